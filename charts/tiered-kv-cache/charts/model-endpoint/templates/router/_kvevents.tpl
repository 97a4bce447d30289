{{- /* What an engine needs so that its router can place requests by prefix (prefixaware) or by what lies in its cache
       (kvaware). Context everywhere: model context. */ -}}

{{- /* Port of the engine's cache events (ZeroMQ PUB), and of its replay of the last ones (ROUTER). */ -}}
{{- define "model-endpoint.engine.kvEventsPort" -}}5557{{- end -}}
{{- define "model-endpoint.engine.kvReplayPort" -}}5558{{- end -}}

{{- /* "true" where the engines publish events; on HyperPod the operator's router asks LMCache. */ -}}
{{- define "model-endpoint.engine.kvEvents" -}}
{{- if and (not .root.tkc.hyperpod) (eq .spec.routing.strategy "kvaware") }}true{{ end -}}
{{- end -}}

{{- /* Arguments of vLLM; they change nothing in a block. YAML list, or nothing.
       --enable-scale-out gives <path>/render, with which the router learns the tokens of a request; older ones answer
       /tokenize, which knows no tools. The router starts after the engine, and again at any time: it reads what it missed
       from the replay port, as long as the engine still has its first batch (10,000, vLLM's default). */ -}}
{{- define "model-endpoint.engine.kvEventsArgs" -}}
{{- if and (not .root.tkc.hyperpod) (has .spec.routing.strategy (list "prefixaware" "kvaware")) }}
{{- if include "model-endpoint.engine.hasRender" . }}
- --enable-scale-out
{{- end }}
{{- end }}
{{- if include "model-endpoint.engine.kvEvents" . }}
- --middleware
- tkc_kv_discovery.KvDiscovery
- --kv-events-config
- {{ include "tkc.yamlText" (toJson (dict
      "enable_kv_cache_events" true
      "publisher" "zmq"
      "topic" ""
      "endpoint" (printf "tcp://*:%s" (include "model-endpoint.engine.kvEventsPort" .))
      "replay_endpoint" (printf "tcp://*:%s" (include "model-endpoint.engine.kvReplayPort" .)))) }}
{{- end }}
{{- end -}}

{{- /* "true" if this vLLM has --enable-scale-out; a version that is no number is taken for a new one. */ -}}
{{- define "model-endpoint.engine.hasRender" -}}
{{- $version := regexFind "^v?[0-9]+\\.[0-9]+(\\.[0-9]+)?" (include "tkc.scalar" .spec.engine.versions.vllm) -}}
{{- if not $version }}true{{ else if semverCompare ">=0.32.0-0" $version }}true{{ end -}}
{{- end -}}

{{- /* Container ports of vllm. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.kvEventsPorts" -}}
{{- if include "model-endpoint.engine.kvEvents" . -}}
- name: kv-events
  containerPort: {{ include "model-endpoint.engine.kvEventsPort" . }}
  protocol: TCP
- name: kv-replay
  containerPort: {{ include "model-endpoint.engine.kvReplayPort" . }}
  protocol: TCP
{{- end -}}
{{- end -}}
