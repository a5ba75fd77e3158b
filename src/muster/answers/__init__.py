"""What the server answers, declared once: the API sends these values, and the client builds them from the JSON it got.

    base marks   what all answers have in common, and what annotations say beyond types
    admission    what admission rules did to jobs, and would have done
    jobs story   jobs, why a job waits, and how it got into its state
    checkpoints  what a job has saved
    bundles      the files that were sent along with a job
    measures     what a training measures of itself
    batch_steps  the steps of a batch job
    nodes teams  machines and teams, with what is in use
    health       the health of nodes
    troubles     what needs attention
    history      what was used and wanted over time
    events       events as they are sent
    access       people, tokens and the audit
    what_if      simulations and their figures

Each answer is a frozen dataclass of the standard library, so that the client stays light to import. FastAPI and
pydantic use its annotations, its marks and the texts below its fields for the OpenAPI document.
"""
