{{- /* Rules for the router of a model and its Service, and for the gateway. Context everywhere: dict root, faults, model. */ -}}

{{- define "tkc.validate.routing" -}}
{{- $spec := .model.spec -}}
{{- $service := $spec.routing.service -}}
{{- if and (index $service "nodePort") (eq $service.type "ClusterIP") -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.service.nodePort" "why" "routing.service.type is ClusterIP, which has no node port" "fix" "set routing.service.type: NodePort, or nodePort: null") .) -}}
{{- end -}}
{{- if include "tkc.validate.modelRequired" (merge (dict "paths" (list
      "routing.session.header" "routing.session.idleSeconds" "routing.prefix.threshold" "routing.prefix.imbalanceRequests" "routing.prefix.imbalanceRatio"
      "routing.retries.attempts" "routing.retries.initialBackoffMs" "routing.retries.maxBackoffMs"
      "routing.circuitBreaker.enabled" "routing.circuitBreaker.failures" "routing.circuitBreaker.openSeconds")) .) -}}
{{-   if gt (int64 $spec.routing.retries.initialBackoffMs) (int64 $spec.routing.retries.maxBackoffMs) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "routing.retries.initialBackoffMs" "why" (printf "the first pause is longer than the longest one: routing.retries.maxBackoffMs is %d" (int64 $spec.routing.retries.maxBackoffMs))
            "fix" "lower it, or raise maxBackoffMs") .) -}}
{{-   end -}}
{{-   include (printf "tkc.validate.routing.%s" $spec.routing.strategy) . -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.routing.roundrobin" -}}{{- end -}}

{{- /* What one router has sent where, no other knows. */ -}}
{{- define "tkc.validate.routing.prefixaware" -}}
{{- if gt (int64 .model.spec.routing.replicas) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.replicas" "why" "with strategy prefixaware each router remembers only its own requests, so that a prefix would go to as many engines as there are routers"
          "fix" "use 1, or strategy kvaware, whose routers all learn from the engines") .) -}}
{{- end -}}
{{- end -}}

{{- /* The router reads the session from these headers and no other, the first of them that is there. */ -}}
{{- define "tkc.validate.routing.session" -}}
{{- $known := list "x-session-id" "x-user-id" "x-tenant-id" "x-correlation-id" -}}
{{- if not (has (lower .model.spec.routing.session.header) $known) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.session.header" "why" "the packaged router reads sessions from X-Session-ID, X-User-ID, X-Tenant-ID and X-Correlation-ID only"
          "fix" "use one of them") .) -}}
{{- end -}}
{{- end -}}

{{- /* Events describe L0; LMCache's own ones, about L1, come in the same stream with blocks of its chunk size. */ -}}
{{- define "tkc.validate.routing.kvaware" -}}
{{- $spec := .model.spec -}}
{{- if eq (.root.tkc.values.ipFamily | default "IPv4") "IPv6" -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.strategy" "why" "vLLM publishes the events that kvaware follows on IPv4 addresses only, and ipFamily is IPv6" "fix" "use strategy prefixaware") .) -}}
{{- end -}}
{{- if not $spec.cache.l0.enabled -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.strategy" "why" "kvaware follows the events of L0, and cache.l0.enabled is false" "fix" "switch L0 on, or use strategy prefixaware") .) -}}
{{- end -}}
{{- if and (or $spec.cache.l1.enabled (and $spec.cache.l2.enabled .root.tkc.values.l2.enabled)) (eq (include "model-endpoint.engine.mode" .model) "multiProcess")
      (ne (int64 $spec.cache.chunkSize) (int64 (index $spec.engine "blockSize"))) -}}
{{-   $block := index $spec.engine "blockSize" -}}
{{-   include "tkc.modelFault" (merge (dict "path" "cache.chunkSize" "why" (printf "with strategy kvaware LMCache reports its chunks to the router as blocks, and the router forgets an engine whose blocks differ in size: engine.blockSize is %s" (ternary (include "tkc.scalar" $block) "vLLM's own choice" (not (empty $block))))
          "fix" (printf "set cache.chunkSize and engine.blockSize to the same number, for example %d, or use strategy prefixaware" (int64 ($block | default 128)))) .) -}}
{{- end -}}
{{- end -}}

{{- /* A node port belongs to one Service of the cluster. Context: dict root, faults. */ -}}
{{- define "tkc.validate.nodePorts" -}}
{{- include "tkc.validate.gateway" . -}}
{{- $taken := dict -}}
{{- $services := list -}}
{{- range $model := .root.tkc.models -}}
{{-   $result := dict -}}
{{-   include "tkc.at" (dict "from" $model.spec "path" "routing.service.nodePort" "result" $result) -}}
{{-   $services = append $services (dict "of" (printf "models.%s" $model.name) "key" (printf "models.%s.routing.service.nodePort" $model.name) "port" (index $result "value")) -}}
{{- end -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .root.tkc.values "path" "gateway.service.nodePort" "result" $result) -}}
{{- if (index .root.tkc.values "gateway" | default dict).enabled -}}
{{-   $services = append $services (dict "of" "gateway" "key" "gateway.service.nodePort" "port" (index $result "value")) -}}
{{- end -}}
{{- range $services -}}
{{-   if .port -}}
{{-     $port := int64 .port | toString -}}
{{-     if hasKey $taken $port -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" .key "value" (int64 .port) "why" (printf "%s has the same node port" (get $taken $port))
              "fix" "give each its own, or leave it out and let the cluster choose") -}}
{{-     else -}}
{{-       $_ := set $taken $port .of -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults. */ -}}
{{- define "tkc.validate.gateway" -}}
{{- $gateway := index .root.tkc.values "gateway" | default dict -}}
{{- if and (index $gateway "exclusive") (not (index $gateway "enabled")) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "gateway.exclusive" "value" true "why" "there is no gateway (gateway.enabled is false), and everybody would reach the models' routers" "fix" "set gateway.enabled: true, or gateway.exclusive: false") -}}
{{- end -}}
{{- if $gateway.enabled -}}
{{- if include "tkc.validate.required" (dict "faults" .faults "from" .root.tkc.values "prefix" "" "paths" (list "gateway.replicas" "gateway.maxBodyMiB" "gateway.service.type" "gateway.service.port" "gateway.resources")) -}}
{{-   if and (index $gateway.service "nodePort") (eq $gateway.service.type "ClusterIP") -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "gateway.service.nodePort" "value" (int64 $gateway.service.nodePort) "why" "gateway.service.type is ClusterIP, which has no node port" "fix" "set gateway.service.type: NodePort, or nodePort: null") -}}
{{-   end -}}
{{- end -}}
{{- $limit := index (index (index $gateway "resources" | default dict) "limits" | default dict) "memory" -}}
{{- if and (not (kindIs "invalid" $limit)) (index $gateway "maxBodyMiB") -}}
{{-   $least := mul (add (int64 $gateway.maxBodyMiB) 64) 1048576 -}}
{{-   if include "tkc.quantity.valid" $limit -}}{{- if gt $least (include "tkc.quantity.bytes" $limit | int64) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "gateway.maxBodyMiB" "value" (int64 $gateway.maxBodyMiB) "why" (printf "one such body and the gateway itself (64Mi) do not fit into gateway.resources.limits.memory: %s" (include "tkc.scalar" $limit))
            "fix" (printf "set the limit to %dMi or more, better several times as much, or lower maxBodyMiB" (add (int64 $gateway.maxBodyMiB) 64))) -}}
{{-   end -}}{{- end -}}
{{- end -}}
{{- include "tkc.validate.resources" (dict "faults" .faults "key" "gateway.resources" "resources" (index $gateway "resources" | default dict)) -}}
{{- $placement := include "tkc.gateway.placement" .root | fromJson -}}
{{- $spec := dict -}}
{{- range $key, $value := $placement -}}{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $spec $key $value -}}{{- end -}}{{- end -}}
{{- include "tkc.validate.placement" (dict "root" .root "faults" .faults "scope" "gateway" "model" (dict "name" "gateway" "given" $gateway "spec" $spec)) -}}
{{- if and $gateway.exclusive (not .root.tkc.values.networkPolicy.enabled) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "gateway.exclusive" "value" true "why" "it is a rule of the NetworkPolicies, and networkPolicy.enabled is false" "fix" "set networkPolicy.enabled: true, or gateway.exclusive: false") -}}
{{- end -}}
{{- $served := dict -}}
{{- range .root.tkc.models -}}
{{-   if eq .name "gateway" -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" "models" "value" "gateway" "why" "its Service would have the gateway's name" "fix" "rename the key, and keep the wished name in servedName") -}}
{{-   end -}}
{{-   $name := .spec.servedName | default .name -}}
{{-   if hasKey $served $name -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "models.%s.servedName" .name) "value" $name "why" (printf "models.%s is served under the same name, and the gateway goes by it" (get $served $name))
            "fix" "give each model its own servedName, or set gateway.enabled: false") -}}
{{-   else -}}
{{-     $_ := set $served $name .name -}}
{{-   end -}}
{{- end -}}
{{- end -}}
{{- end -}}
