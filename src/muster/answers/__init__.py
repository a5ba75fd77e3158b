"""What the server answers, declared once: the API sends these values and the client makes them of what it got.

Each answer is a frozen dataclass of the standard library, so that the client stays light to import. FastAPI and
pydantic take its annotations, its marks (`marks`) and the texts below its fields for the OpenAPI document. One file per
noun.
"""
