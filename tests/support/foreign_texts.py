"""Texts of payers and models with persons in them, which no pattern finds; and what must be seen nowhere."""

CPF, NAME = "529.982.247-25", "MARIA DA SILVA"
TEXTS = (
    f"Beneficiário {NAME} sem cobertura",
    f"TIMEOUT - beneficiária {NAME}, nascida em 12 de maio",
    "CPF 529%2E982%2E247-25 inválido",
    "529.982.\n247-25",
    "escreva a x%40gmail.com",
    "CID F32.1",
    "503 - Dona Maria espera",
    "TISS 1001 paciente da Silva",
    "TIMEOUT (MARIA DA SILVA)",
    "UNKNOWN_REFUSAL (TISS:52998224725)",
)
CODES = (None, f"TISS:{CPF}", "TISS:52998224725", "MARIA:SILVA", "HTTP:503", "HTTP:52998224725", "tiss:1001")
SECRETS = ("MARIA", "Maria", "SILVA", "Silva", "nascida", "Dona", "529.", "529%", "52998", "247-25", "x%40",
           "gmail", "F32.1")  # fmt: skip
"""Long enough to be in no hash by chance."""
