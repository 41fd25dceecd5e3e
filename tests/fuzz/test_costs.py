"""Whatever a payer or a file repeats, four times as much of it costs no more than a few times the work."""

import random
from collections.abc import Callable

import pytest

from gateways.tiss.exchange import describe
from gateways.tiss.judgement import HttpAnswer, judge_cancel, judge_status, judge_submission
from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.messages import lote_message, seal
from gateways.tiss.names import Version
from gateways.tiss.validation import Schemas
from tests.support.effort import LINEAR, growth
from tests.support.tiss_samples import CARD, file_bytes, file_text, header, lote, sample

BATCH, SCHEMAS = lote(), Schemas()
RECEIPT, FILE = sample("response_protocoloRecebimento"), file_bytes(file_text())
NAMES = [
    "motivoGlosa",
    "codigoGlosa",
    "descricaoGlosa",
    "glosaGuia",
    "glosasProcedimento",
    "numeroGuiaPrestador",
    "dadosGuias",
    "protocoloRecebimento",
    "detalheProtocolo",
    "numeroProtocolo",
    "valorTotalProtocolo",
    "numeroLote",
    "recebimentoLote",
    "mensagemErro",
    "falhaNegocio",
    "tissFault",
    "Fault",
    "faultcode",
    "detalheLote",
    "statusProtocolo",
    "loteCancelado",
    "hash",
    "x",
]
OF_FILES = [
    "guiaConsulta",
    "guiaSP-SADT",
    "cabecalhoConsulta",
    "cabecalhoGuia",
    "numeroGuiaPrestador",
    "procedimentosExecutados",
    "procedimentoExecutado",
    "outrasDespesas",
    "despesa",
    "numeroCarteira",
    "UF",
    "CNES",
    "observacao",
    "hash",
    "numeroLote",
    "x",
]
TEXTS = ("", "", "1", "1308", "GP-0001", "x" * 40, "á" * 10)
REPEATED = 1_000


def fragment(rng: random.Random, names: list[str], depth: int = 4) -> bytes:
    """A small piece of a message."""
    name = rng.choice(names).encode()
    below = rng.randint(0, 3) if depth else 0
    inside = b"".join(fragment(rng, names, depth - 1) for _ in range(below))
    text = rng.choice(TEXTS).encode("iso-8859-1")
    return b"<ans:" + name + b">" + (inside or text) + b"</ans:" + name + b">"


def repeating(message: bytes, names: list[str], seed: int) -> Callable[[int], bytes]:
    """The message with a piece again and again in one of its places."""
    rng = random.Random(seed)
    piece = fragment(rng, names)
    places = [place for place in range(len(message)) if message.startswith(b"<ans:", place)]
    place = rng.choice(places[1:])
    return lambda times: message[:place] + piece * times + message[place:]


def judged(body: bytes) -> None:
    for status in (200, 400):
        judge_submission(HttpAnswer(status, body), BATCH)
    judge_status(HttpAnswer(200, body), "900000000001")
    judge_cancel(HttpAnswer(200, body), "200000000001")
    describe(HttpAnswer(200, body), {CARD})


def checked(data: bytes) -> None:
    try:
        read = read_lote(data)
    except LoteRefusedError:
        return
    assert read.digest
    SCHEMAS.violations(seal(lote_message(header(), read), "iso-8859-1"), Version.V4_03_00)


@pytest.mark.parametrize("seed", range(12))
def test_an_answer_that_repeats_itself_costs_by_its_length_alone(seed: int) -> None:
    attack = repeating(RECEIPT, NAMES, seed)

    def work(times: int) -> Callable[[], object]:
        body = attack(times)
        return lambda: judged(body)

    assert growth(work, REPEATED) < LINEAR


@pytest.mark.parametrize("seed", range(12))
def test_a_file_that_repeats_itself_costs_by_its_length_alone(seed: int) -> None:
    attack = repeating(FILE, OF_FILES, seed)

    def work(times: int) -> Callable[[], object]:
        data = attack(times)
        return lambda: checked(data)

    assert growth(work, REPEATED) < LINEAR
