{{- /* What of the engine changes the bytes of a cache block, or the name that they lie under, without being in LMCache's own
       key: the engine's part of the L2 fingerprint. Limits, sizes, replicas and nodes stay out: they change without changing a
       byte, and would only lose hits. JSON object. Context: model context. */ -}}
{{- define "model-endpoint.engine.identity" -}}
{{- $engine := .spec.engine -}}
{{- toJson (dict
      "device" $engine.device
      "dtype" $engine.dtype
      "kvCacheDtype" $engine.kvCacheDtype
      "tensorParallelSize" (int64 $engine.tensorParallelSize)
      "pipelineParallelSize" (int64 $engine.pipelineParallelSize)
      "blockSize" (index $engine "blockSize" | default 0 | int64)
      "chunkSize" (int64 .spec.cache.chunkSize)
      "vllm" $engine.versions.vllm
      "lmcache" $engine.versions.lmcache
      "lmcacheMode" .mode
      "hashAlgorithm" (include "model-endpoint.engine.hashAlgorithm" .)
      "hashSeed" (int64 .spec.cache.hashSeed)
      "engineArgs" (include "model-endpoint.engine.fingerprintArgs" . | fromJsonArray)
      "engineEnv" (include "model-endpoint.engine.fingerprintEnv" . | fromJson)) -}}
{{- end -}}
