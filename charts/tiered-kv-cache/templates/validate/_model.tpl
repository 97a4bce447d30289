{{- /* Rules for one model. Context everywhere: dict root, faults, model. */ -}}
{{- define "tkc.validate.model" -}}
{{- include "tkc.validate.modelName" . -}}
{{- $complete := include "tkc.validate.modelRequired" (merge (dict "paths" (list
      "replicas" "engine.image.pullPolicy" "engine.lmcacheMode" "engine.device"
      "engine.kvCacheDtype" "engine.tensorParallelSize" "engine.pipelineParallelSize" "engine.gpuMemoryUtilization" "engine.kvLoadFailurePolicy"
      "engine.maxModelLen" "engine.cpu.kvCacheSpaceGiB" "engine.cpu.ompThreadsBind"
      "cache.hashSeed" "cache.chunkSize" "cache.l0.enabled" "cache.l1.enabled" "cache.l1.memory" "cache.l2.enabled"
      "cache.l2.adapter" "cache.l2.settings.recomputeMsPerChunk" "cache.l2.settings.lookupDeadlineMs" "cache.l2.settings.stallMs" "cache.l2.settings.loadBaseMs" "cache.l2.settings.loadMsPerMiB"
      "cache.l2.settings.loadThreads" "cache.l2.settings.storeThreads" "cache.l2.settings.storeQueueMiB" "cache.l2.settings.fsync"
      "cache.l2.settings.directIO"
      "routing.strategy" "routing.replicas" "routing.requestTimeoutSeconds" "routing.service.type" "routing.service.port"
      "resources.engine" "resources.lmcache" "resources.router"
      "probes.startup.budget" "probes.startup.completion" "probes.startup.timeoutSeconds"
      "probes.readiness.periodSeconds" "probes.readiness.timeoutSeconds" "probes.readiness.failureThreshold"
      "probes.liveness.periodSeconds" "probes.liveness.timeoutSeconds" "probes.liveness.failureThreshold"
      "rollout.maxSurge" "rollout.maxUnavailable" "terminationGracePeriodSeconds")) .) -}}
{{- include "tkc.validate.source" . -}}
{{- include "tkc.validate.texts" . -}}
{{- if $complete -}}
{{-   include "tkc.validate.engine" . -}}
{{-   include "tkc.validate.lifecycle" . -}}
{{-   include (ternary "tkc.validate.hyperpod" "tkc.validate.routing" .root.tkc.hyperpod) . -}}
{{-   include "tkc.validate.cache" . -}}
{{-   include "tkc.validate.cacheSalt" . -}}
{{-   include "tkc.validate.memory" . -}}
{{-   if not .root.tkc.hyperpod -}}{{- include "tkc.validate.prompt" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Adds a fault of a leaf of the model, named where it was set: in the model's own values or in the defaults.
       Context: dict root, faults, model, path, why, fix, value (optional; else the merged value), scope (optional: what stands
       there for the model). */ -}}
{{- define "tkc.modelFault" -}}
{{- $own := dict -}}
{{- include "tkc.at" (dict "from" .model.given "path" .path "result" $own) -}}
{{- $merged := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $merged) -}}
{{- $scope := ternary (.scope | default (printf "models.%s" .model.name)) "defaults" (hasKey $own "value") -}}
{{- $fault := dict "faults" .faults "key" (printf "%s.%s" $scope .path) "why" .why "fix" .fix -}}
{{- if hasKey . "value" -}}{{- $_ := set $fault "value" .value -}}
{{- else if hasKey $merged "value" -}}{{- $_ := set $fault "value" $merged.value -}}{{- end -}}
{{- include "tkc.fault" $fault -}}
{{- end -}}

{{- define "tkc.validate.modelName" -}}
{{- $name := .model.name -}}
{{- $prefix := include "tkc.prefix" .root -}}
{{- $longest := printf "%s-%s-engine" $prefix $name -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "models" "value" $name "why" "the key becomes part of object names: only a-z, 0-9 and -, beginning and ending with a letter or digit"
          "fix" (printf "rename the key, for example to %s, and keep the wished name in servedName" (regexReplaceAll "[^a-z0-9]+" (lower $name) "-" | trimAll "-" | default "my-model"))) -}}
{{- else if gt (len $longest) 63 -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "models" "value" $name "why" (printf "the object name %s has %d characters, 63 are allowed" $longest (len $longest))
          "fix" (printf "shorten the key by %d characters, or the release's name (nameOverride)" (sub (len $longest) 63))) -}}
{{- end -}}
{{- end -}}
