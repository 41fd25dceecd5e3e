"""Personal data that must be seen nowhere, a claim full of it, and a look at everything a database holds."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.support import tiss_samples

CPF, CNS, CARD, NAME = "529.982.247-25", "898001160651234", "00251234567890123", "Maria Aparecida da Silva"
ERROR = (
    f"TIMEOUT - paciente: {NAME}; CPF {CPF}; CNS: {CNS}; "
    f"<ans:numeroCarteira>{CARD}</ans:numeroCarteira><ans:nomeBeneficiario>{NAME}</ans:nomeBeneficiario>"
)
DIGITS = "52998224725"
SECRETS = (CPF, DIGITS, CNS, CARD, NAME, "Aparecida")
_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": """SELECT tablename FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')""",
}


def patients_file(number: str = "200000000001") -> bytes:
    """A claim of which guides are full of what must not be seen."""
    file = tiss_samples.file_text(number, guides=2).replace(tiss_samples.DOCTOR, NAME)
    file = file.replace(tiss_samples.CARD, CNS, 1).replace(tiss_samples.CARD, CARD)
    prestador = (
        "<ans:codigoPrestadorNaOperadora>PREST0001</ans:codigoPrestadorNaOperadora>\n          <ans:CNES>"
    )
    cpf = f"<ans:cpfContratado>{DIGITS}</ans:cpfContratado>\n          <ans:CNES>"
    return tiss_samples.file_bytes(file.replace(prestador, cpf))


async def dump(database: AsyncEngine) -> str:
    """Every row of every table that the database itself knows of, as text."""
    rows = []
    async with database.connect() as connection:
        for table in await connection.scalars(text(_TABLES[database.dialect.name])):
            found = await connection.execute(text(f"SELECT * FROM {table}"))  # noqa: S608
            rows += [f"table {table}", *(f"{table}: {row}" for row in found)]
    return "\n".join(rows)
