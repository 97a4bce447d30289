"""`LMCACHE_EXTRA_CONFIG`: the operator's members stay, ours is there once."""

from __future__ import annotations

from .model import Case, Patched, Refused
from .parts import TMP, in_process, worker_env
from .shapes import MODEL, kept_env, v32, value

_KEPT = kept_env()


def _extra(text: str) -> dict[str, object]:
    return v32(env=[*_KEPT, value("LMCACHE_EXTRA_CONFIG", text)])


def _merged(name: str, text: str, expected: str) -> Case:
    return Case(
        f"extra-{name}", _extra(text), Patched(in_process(worker_env(extra=value("LMCACHE_EXTRA_CONFIG", expected))))
    )


def _refused(name: str, text: str) -> Case:
    return Case(f"extra-{name}", _extra(text), Refused((MODEL, "LMCACHE_EXTRA_CONFIG", "Fix: ")))


NESTED = '{"a": {"fs_connector_relative_tmp_dir": "x"}}'

CASES = [
    _merged("empty-object", "{}", "{" + TMP + "}"),
    _merged("spaced-object", "{ \n }", "{ \n " + TMP + "}"),
    _merged("blank", " \t\n", "{" + TMP + "}"),
    _merged("trimmed", ' {"a":1} \n', '{"a":1, ' + TMP + "}"),
    _merged(
        "bytes-kept",
        '{"b" : "\\u00e9 \\"x\\" }",\n  "a":[1, -2.5e+10,true , null,"]"],"o":{"k":"{", "n":{}} }'.replace(
            '"n":{}', '"n":0'
        ),
        '{"b" : "\\u00e9 \\"x\\" }",\n  "a":[1, -2.5e+10,true , null,"]"],"o":{"k":"{", "n":0} , ' + TMP + "}",
    ),
    _merged("ours-first", '{"fs_connector_relative_tmp_dir": "tmp", "a": 1}', "{" + TMP + ', "a": 1}'),
    _merged("ours-last", '{"a":1,"fs_connector_relative_tmp_dir" :"t\\"mp"}', '{"a":1,' + TMP + "}"),
    _merged("ours-alone", '{"fs_connector_relative_tmp_dir":""}', "{" + TMP + "}"),
    _merged(
        "ours-is-a-value", '{"a":"fs_connector_relative_tmp_dir"}', '{"a":"fs_connector_relative_tmp_dir", ' + TMP + "}"
    ),
    _merged(
        "ours-in-a-text",
        '{"a":"\\"fs_connector_relative_tmp_dir\\": \\"x\\""}',
        '{"a":"\\"fs_connector_relative_tmp_dir\\": \\"x\\"", ' + TMP + "}",
    ),
    _merged(
        "other-name-ends-alike",
        '{"my_fs_connector_relative_tmp_dir":"x"}',
        '{"my_fs_connector_relative_tmp_dir":"x", ' + TMP + "}",
    ),
    _refused("not-json", "{sagemaker: 1}"),
    _refused("a-list", "[1]"),
    _refused("a-text", '"a"'),
    _refused("cut-off", '{"a": 1'),
    _refused("trailing-comma", '{"a": 1,}'),
    _refused("two-objects", "{}{}"),
    _refused("not-a-number", '{"a": NaN}'),
    _refused("deep", '{"a": {"b": {"c": 1}}}'),
    _refused("list-in-list", '{"a": [[1]]}'),
    _refused("escaped-name", '{"fs_connector_relative_tmp_di\\u0072": "x"}'),
    _refused("ours-a-number", '{"fs_connector_relative_tmp_dir": 1}'),
    _refused("ours-null", '{"fs_connector_relative_tmp_dir": null, "a": "b"}'),
    _refused("ours-twice", '{"fs_connector_relative_tmp_dir": "a", "fs_connector_relative_tmp_dir": "b"}'),
    _refused("ours-inside", NESTED),
    Case(
        "extra-by-value-from",
        v32(
            env=[
                *_KEPT,
                {"name": "LMCACHE_EXTRA_CONFIG", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}},
            ]
        ),
        Refused((MODEL, "LMCACHE_EXTRA_CONFIG", "valueFrom")),
    ),
]
