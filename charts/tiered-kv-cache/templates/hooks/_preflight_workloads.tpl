{{- /* Pods of the release, with what they ask for and where they may run, for preflight. Context everywhere: root, if not said otherwise. */ -}}

{{- /* A container's name and amounts. Context: dict name, resources. JSON object. */ -}}
{{- define "tkc.preflight.container" -}}
{{- include "tkc.resources" .resources | fromYaml | merge (dict "name" .name) | toJson -}}
{{- end -}}

{{- /* All workloads. JSON list. */ -}}
{{- define "tkc.preflight.workloads" -}}
{{- $hooks := .tkc.values.hooks -}}
{{- $hook := include "tkc.preflight.container" (dict "name" "hook" "resources" $hooks.resources) | fromJson -}}
{{- $hyperpod := eq (include "tkc.preflight.hyperpod" .) "true" -}}
{{- $workloads := list -}}
{{- range .tkc.models -}}
{{-   $workloads = append $workloads (include "tkc.preflight.engine" . | fromJson) -}}
{{-   if not $hyperpod -}}
{{-     $router := include "tkc.preflight.container" (dict "name" "router" "resources" .spec.resources.router) | fromJson -}}
{{-     $workloads = append $workloads (dict "key" (printf "models.%s.resources.router" .name) "name" (include "tkc.model.routerName" .) "replicas" (int64 .spec.routing.replicas)
          "surge" 1 "containers" (list $router) "nodeSelector" (include "tkc.nodeSelector.json" .spec.routing.nodeSelector | fromJson) "tolerations" .spec.tolerations) -}}
{{-   end -}}
{{- end -}}
{{- $among := dict -}}
{{- if .tkc.models -}}{{- $among = include "tkc.pod.amongEngines" . | fromYaml -}}{{- end -}}
{{- if include "tkc.keeper.enabled" . -}}
{{-   $keeper := include "tkc.preflight.container" (dict "name" "keeper" "resources" .tkc.values.l2.keeper.resources) | fromJson -}}
{{-   $workloads = append $workloads (merge (dict "key" "l2.keeper.resources" "name" (include "tkc.keeper.name" .) "replicas" 1 "containers" (list $keeper)) $among) -}}
{{- end -}}
{{- if and .tkc.models .tkc.values.gateway.enabled (not $hyperpod) -}}
{{-   $gateway := include "tkc.preflight.container" (dict "name" "gateway" "resources" .tkc.values.gateway.resources) | fromJson -}}
{{-   $workloads = append $workloads (dict "key" "gateway.resources" "name" (include "tkc.gateway.name" .) "replicas" (int64 .tkc.values.gateway.replicas) "surge" 1
        "containers" (list $gateway) "tolerations" (dig "tolerations" list (include "tkc.pod.anywhereTolerated" . | fromYaml))) -}}
{{- end -}}
{{- if include "curvine.own" . -}}
{{-   $masters := .tkc.values.curvine.masters -}}
{{-   $master := include "tkc.preflight.container" (dict "name" "master" "resources" $masters.resources) | fromJson -}}
{{-   $workloads = append $workloads (dict "key" "curvine.masters.resources" "name" (include "curvine.masters.name" .) "replicas" (int64 $masters.replicas)
        "containers" (list $master) "nodeSelector" $masters.nodeSelector "tolerations" $masters.tolerations) -}}
{{- end -}}
{{- if include "tkc.storage.enabled" . -}}
{{-   $workloads = append $workloads (merge (dict "key" "hooks.resources" "name" (include "tkc.storage.name" .) "replicas" 2 "once" true "containers" (list $hook)) $among) -}}
{{- else -}}
{{-   $workloads = append $workloads (dict "key" "hooks.resources" "name" (include "tkc.preflight.name" .) "replicas" 1 "once" true "containers" (list $hook)
        "tolerations" (dig "tolerations" list (include "tkc.pod.anywhereTolerated" . | fromYaml))) -}}
{{- end -}}
{{- toJson $workloads -}}
{{- end -}}

{{- /* The engines of a model. Context: model context. JSON object. */ -}}
{{- define "tkc.preflight.engine" -}}
{{- $hyperpod := eq (include "tkc.preflight.hyperpod" .root) "true" -}}
{{- $containers := list (include "model-endpoint.engine.resources" . | fromYaml | merge (dict "name" "vllm")) -}}
{{- if and .lmcache (eq .mode "multiProcess") -}}
{{-   $containers = append $containers (include "tkc.preflight.container" (dict "name" "lmcache" "resources" .spec.resources.lmcache) | fromJson) -}}
{{- end -}}
{{- $init := list -}}
{{- if or .l2 .guarded -}}
{{-   $init = append $init (include "tkc.preflight.container" (dict "name" "l2-root" "resources" .root.tkc.values.hooks.resources) | fromJson) -}}
{{- end -}}
{{- if and (not $hyperpod) (include "model-endpoint.engine.fetched" .) -}}
{{-   $init = append $init (include "tkc.preflight.container" (dict "name" "fetch" "resources" .root.tkc.values.modelStore.resources) | fromJson) -}}
{{- end -}}
{{- $replicas := int64 .spec.replicas -}}
{{- if .spec.autoscaling.enabled -}}{{- $replicas = index .spec.autoscaling "minReplicas" | default 0 | int64 -}}{{- end -}}
{{- /* The operator's Deployment starts a quarter more Pods, as Kubernetes does by default (inferred: none was published). */ -}}
{{- $surge := ternary (max 1 (div (add $replicas 3) 4)) (int64 .spec.rollout.maxSurge) $hyperpod -}}
{{- toJson (dict
      "key" (printf "models.%s" .name)
      "name" (ternary (include "tkc.model.name" .) (include "tkc.model.engineName" .) $hyperpod)
      "replicas" $replicas
      "surge" $surge
      "containers" $containers
      "initContainers" $init
      "nodeSelector" (include "tkc.nodeSelector.json" .spec.nodeSelector | fromJson)
      "tolerations" .spec.tolerations
      "affinity" (include "model-endpoint.engine.affinity" . | fromJson)
      "crossNode" .l2) -}}
{{- end -}}
