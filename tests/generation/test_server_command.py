"""The command line of the engine that Folio starts."""

import socket

import pytest

from folio.errors import ConfigurationError, ModelMissing
from folio.settings import load_settings
from generation import vllm_server
from generation.vllm_server import server_command


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Makes the command for settings, on a machine with or without a GPU."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")

    def make(*, gpu: bool = False, **changes: object):
        monkeypatch.setattr(vllm_server, "has_gpu", lambda: gpu)
        return server_command(load_settings(**{"data_dir": tmp_path, "model": str(tmp_path), **changes}))

    return make


def value(command, name: str) -> str:
    return command.arguments[command.arguments.index(name) + 1]


def test_a_cpu_gets_short_steps_and_a_gpu_keeps_vllms_own(command) -> None:
    cpu, gpu = command(kv_cache_gib=3), command(gpu=True)
    assert int(value(cpu, "--max-num-batched-tokens")) <= 256
    assert cpu.environment["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert cpu.environment["TORCHDYNAMO_DISABLE"] == "1"
    assert "--max-num-batched-tokens" not in gpu.arguments
    assert "--enforce-eager" not in gpu.arguments


def test_arguments_of_ones_own_come_last_and_win(command) -> None:
    started = command(engine_args='--reasoning-parser qwen3 --speculative-config \'{"method": "mtp"}\'')
    assert started.arguments[-4:] == ("--reasoning-parser", "qwen3", "--speculative-config", '{"method": "mtp"}')


def test_the_engine_traces_to_where_folio_traces(command) -> None:
    assert "--otlp-traces-endpoint" not in command().arguments
    assert value(command(trace_endpoint="http://localhost:4318/v1/traces"), "--otlp-traces-endpoint")


def test_a_taken_port_and_a_missing_model_are_said_before_anything_starts(command, tmp_path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigurationError, match="FOLIO_ENGINE_PORT"):
            command(engine_port=taken.getsockname()[1])
    with pytest.raises(ModelMissing, match="FOLIO_MODEL"):
        command(model=str(tmp_path / "none"))
