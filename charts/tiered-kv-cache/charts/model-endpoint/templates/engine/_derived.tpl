{{- /* What follows from a model's values about its engine. Context everywhere: model context. */ -}}

{{- /* multiProcess or inProcess. */ -}}
{{- define "model-endpoint.engine.mode" -}}
{{- ternary "multiProcess" .spec.engine.lmcacheMode (eq .spec.engine.lmcacheMode "auto") -}}
{{- end -}}

{{- /* Processes that hold KV: one for each GPU. */ -}}
{{- define "model-endpoint.engine.ranks" -}}
{{- mul (int64 .spec.engine.tensorParallelSize) (int64 .spec.engine.pipelineParallelSize) -}}
{{- end -}}
