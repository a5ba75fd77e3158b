"""What alembic runs: bring the database behind the given connection to the revision that was asked for."""

from alembic import context

from muster.store.sql.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
