"""The documents as a site: guides, references, decisions, and pages that are made from the code when it is built.

    python -m docs.site [FOLDER]      or `make docs`: builds it into build/site, and fails on whatever Sphinx warns of

    staging         what goes onto the site, and where it stands
    api_pages       the HTTP API, from its OpenAPI document
    command_pages   the command line, from the commands themselves
    example_pages   the example scenarios with what is decided in them
    conf            how Sphinx reads it, and how it looks

Sphinx with MyST and Furo: the first two are kept up by several people, the third is 300 KB and has nothing that a
browser would have to fetch elsewhere. Material for MkDocs is 9 MB, on a MkDocs that has had no release since 2024.
"""
