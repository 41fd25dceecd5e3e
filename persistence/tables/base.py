"""What all tables share: the registry they stand in, and the names of their constraints."""

from sqlalchemy import MetaData

CLAIM_ID_LENGTH = 128

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
