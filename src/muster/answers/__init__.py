"""What the server answers, declared once: the API sends these values and the client makes them of what it got.

    base marks   what all answers have in common, and what annotations say beyond types
    jobs story   jobs, why one waits, and how it got where it is
    nodes teams  machines and teams, with what is used of them
    events       what happens, as it is told
    access       people, tokens and the audit

Each answer is a frozen dataclass of the standard library, so that the client stays light to import. FastAPI and
pydantic take its annotations, its marks and the texts below its fields for the OpenAPI document.
"""
