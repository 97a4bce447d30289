{{- /* Rules for the life of a model's Pods: number, rollout, scaling, probes, end. Context everywhere: dict root, faults,
       model. */ -}}

{{- define "tkc.validate.lifecycle" -}}
{{- include "tkc.validate.replicas" . -}}
{{- include "tkc.validate.rollout" . -}}
{{- include "tkc.validate.disruption" . -}}
{{- if .model.spec.autoscaling.enabled -}}{{- include (ternary "tkc.validate.iecScaling" "tkc.validate.autoscaling" .root.tkc.hyperpod) . -}}{{- end -}}
{{- include "tkc.validate.probes" . -}}
{{- include "tkc.validate.scheduling" . -}}
{{- end -}}

{{- /* Fewest Pods that the model has when all is well; more than one means that an upgrade need not be an outage. */ -}}
{{- define "tkc.fewestReplicas" -}}
{{- $spec := .model.spec -}}
{{- if $spec.autoscaling.enabled }}{{ int64 (index $spec.autoscaling "minReplicas" | default 1) }}{{ else }}{{ int64 $spec.replicas }}{{ end -}}
{{- end -}}

{{- define "tkc.validate.replicas" -}}
{{- $spec := .model.spec -}}
{{- if lt (int64 $spec.replicas) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "replicas" "why" "a model needs at least one Pod" "fix" (printf "set it to 1 or more; models.%s.enabled: false leaves the model out" .model.name)) .) -}}
{{- end -}}
{{- if and $spec.autoscaling.enabled (hasKey .model.given "replicas") -}}
{{-   include "tkc.modelFault" (merge (dict "path" "replicas" "why" "autoscaling decides how many Pods there are; a number here would be fought over at each upgrade"
          "fix" "take it out (an overlay deletes an inherited one with null) and set autoscaling.minReplicas and maxReplicas, or switch autoscaling.enabled off") .) -}}
{{- end -}}
{{- $least := add (include "model-endpoint.engine.preStopSeconds" . | int64) 10 -}}
{{- if lt (int64 $spec.terminationGracePeriodSeconds) $least -}}
{{-   include "tkc.modelFault" (merge (dict "path" "terminationGracePeriodSeconds" "why" (printf "%s s pass before the engine is told to stop, and it needs time to finish requests" (include "model-endpoint.engine.preStopSeconds" .))
          "fix" (printf "set it to %d or more, better to the longest answer plus 15" $least)) .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.rollout" -}}
{{- $rollout := .model.spec.rollout -}}
{{- $fewest := include "tkc.fewestReplicas" . | int64 -}}
{{- if not (or (int64 $rollout.maxSurge) (int64 $rollout.maxUnavailable)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "rollout.maxUnavailable" "why" "with rollout.maxSurge 0 as well, an upgrade could neither add a Pod nor take one away"
          "fix" "set maxUnavailable to 1 (needs no spare GPU), or maxSurge to 1 (needs room for one Pod more)") .) -}}
{{- else if and (gt $fewest 1) (ge (int64 $rollout.maxUnavailable) $fewest) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "rollout.maxUnavailable" "why" (printf "the model has %d Pods, so that an upgrade would take all of them away at once" $fewest)
          "fix" (printf "set it to %d or less; 1 is the gentlest" (sub $fewest 1))) .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.disruption" -}}
{{- $disruption := .model.spec.disruption -}}
{{- if $disruption.enabled -}}
{{-   $complete := include "tkc.validate.modelRequired" (merge (dict "paths" (list "disruption.maxUnavailable")) .) -}}
{{-   $fewest := include "tkc.fewestReplicas" . | int64 -}}
{{-   if $complete -}}{{- if and (gt $fewest 1) (ge (int64 $disruption.maxUnavailable) $fewest) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "disruption.maxUnavailable" "why" (printf "the model has %d Pods, so that a drain could take all of them away at once" $fewest)
            "fix" (printf "set it to %d or less, or disruption.enabled: false" (sub $fewest 1))) .) -}}
{{-   end -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.autoscaling" -}}
{{- $scaling := .model.spec.autoscaling -}}
{{- $prefix := printf "models.%s." .model.name -}}
{{- $paths := list "autoscaling.type" "autoscaling.minReplicas" "autoscaling.maxReplicas" -}}
{{- if eq (index $scaling "type" | default "") "keda" -}}
{{-   $paths = concat $paths (list "autoscaling.keda.serverAddress" "autoscaling.keda.query" "autoscaling.keda.threshold" "autoscaling.keda.pollingInterval" "autoscaling.keda.cooldownPeriod") -}}
{{- else -}}
{{-   $paths = append $paths "autoscaling.hpa.metrics" -}}
{{- end -}}
{{- if include "tkc.validate.required" (dict "faults" .faults "from" .model.spec "prefix" $prefix "paths" $paths) -}}
{{-   if gt (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.minReplicas" "why" (printf "more than autoscaling.maxReplicas: %d" (int64 $scaling.maxReplicas)) "fix" "lower it, or raise maxReplicas") .) -}}
{{-   else if eq $scaling.type "keda" -}}
{{-     include "tkc.validate.keda" . -}}
{{-   else -}}
{{-     include "tkc.validate.hpa" . -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.keda" -}}
{{- $scaling := .model.spec.autoscaling -}}
{{- $keda := $scaling.keda -}}
{{- if not (regexMatch "^https?://[^\\s/]+" $keda.serverAddress) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.serverAddress" "why" "not the URL of a Prometheus" "fix" "write it like http://prometheus-server.monitoring:9090, or set autoscaling.type: hpa") .) -}}
{{- end -}}
{{- if not (trim $keda.query) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.query" "why" "KEDA would have nothing to scale by"
          "fix" (printf "give PromQL with one number as its result, for example sum(vllm:num_requests_waiting{model_name=%q})" (.model.spec.servedName | default .model.name))) .) -}}
{{- end -}}
{{- $threshold := include "tkc.scalar" $keda.threshold -}}
{{- if not (and (regexMatch "^[0-9]+(\\.[0-9]+)?$" $threshold) (gt (float64 $threshold) 0.0)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.threshold" "why" "not a number above 0" "fix" "set it to the query's value at which one more Pod is due, for example 5") .) -}}
{{- end -}}
{{- if gt (int64 $keda.cooldownPeriod) 3600 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.cooldownPeriod" "why" "Kubernetes waits an hour at most before it scales down" "fix" "set it to 3600 or less") .) -}}
{{- end -}}
{{- $fallback := index $keda "fallbackReplicas" -}}
{{- if not (kindIs "invalid" $fallback) -}}
{{-   if or (lt (int64 $fallback) (int64 $scaling.minReplicas)) (gt (int64 $fallback) (int64 $scaling.maxReplicas)) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.fallbackReplicas" "why" (printf "not between autoscaling.minReplicas (%d) and maxReplicas (%d)" (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas))
            "fix" "set it to the Pods that are enough while the metric is missing, or leave it out") .) -}}
{{-   end -}}
{{- end -}}
{{- $authentication := index $keda "authenticationRef" | default "" -}}
{{- if $authentication -}}
{{-   include "tkc.validate.objectName" (merge (dict "path" "autoscaling.keda.authenticationRef" "name" $authentication "kind" "TriggerAuthentication") .) -}}
{{- end -}}
{{- include "tkc.validate.otherScaler" (merge (dict "path" "autoscaling.hpa.metrics" "used" "hpa") .) -}}
{{- end -}}

{{- define "tkc.validate.hpa" -}}
{{- $metrics := .model.spec.autoscaling.hpa.metrics -}}
{{- if not $metrics -}}
{{-   include "tkc.modelFault" (merge (dict "path" "autoscaling.hpa.metrics" "why" "without a metric nothing would be scaled" "fix" "give a list of autoscaling/v2 metrics, or set autoscaling.type: keda") .) -}}
{{- end -}}
{{- range $index, $metric := $metrics -}}
{{-   $type := index $metric "type" | default "" -}}
{{-   $block := untitle (toString $type) -}}
{{-   if not (kindIs "map" (index $metric $block)) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.hpa.metrics" "value" $metric "why" (printf "type is %s, and the block %s is missing" $type $block) "fix" "write it as in autoscaling/v2, for example {type: External, external: {...}}") $) -}}
{{-   end -}}
{{- end -}}
{{- include "tkc.validate.otherScaler" (merge (dict "path" "autoscaling.keda.query" "used" "keda") .) -}}
{{- end -}}

{{- /* A setting of the scaler that is not chosen would be ignored. Context: as above and path, used (its type). */ -}}
{{- define "tkc.validate.otherScaler" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $result) -}}
{{- if $result.value -}}
{{-   include "tkc.modelFault" (merge (dict "why" (printf "it is ignored, since autoscaling.type is %s" .model.spec.autoscaling.type) "fix" (printf "take it out, or set autoscaling.type: %s" .used)) .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.probes" -}}
{{- $startup := .model.spec.probes.startup -}}
{{- if and $startup.completion (gt (int64 $startup.timeoutSeconds) (int64 $startup.budget)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "probes.startup.timeoutSeconds" "why" (printf "one try would last longer than the whole probes.startup.budget: %d" (int64 $startup.budget)) "fix" "lower it, or raise the budget") .) -}}
{{- end -}}
{{- end -}}

{{- /* A Secret that values name. Context: dict root, faults, at (key of the map with secretName and key). */ -}}
{{- define "tkc.validate.givenSecret" -}}
{{- $given := index .root.tkc.values .at | default dict -}}
{{- $secret := index $given "secretName" | default "" -}}
{{- if $secret -}}
{{-   if not (include "tkc.validate.subdomain" $secret) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" (printf "%s.secretName" .at) "value" "(not shown)" "why" "no Secret can have this name; if it is the key itself, everyone who may read the release can read it now"
            "fix" "make a Secret (kubectl create secret generic) and give its name here") -}}
{{-   end -}}
{{-   if include "tkc.validate.required" (dict "faults" .faults "from" .root.tkc.values "prefix" "" "paths" (list (printf "%s.key" .at))) -}}
{{-     if not (regexMatch "^[-._a-zA-Z0-9]{1,253}$" $given.key) -}}
{{-       include "tkc.fault" (dict "faults" .faults "key" (printf "%s.key" .at) "value" $given.key "why" "no key of a Secret: only letters, digits, -, _ and ." "fix" (printf "choose one of: kubectl get secret %s -o jsonpath='{.data}'" $secret)) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The same Secret in the cluster. Context: as above. */ -}}
{{- define "tkc.validate.givenSecretLive" -}}
{{- $given := index .root.tkc.values .at | default dict -}}
{{- $secret := index $given "secretName" | default "" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- if and .root.tkc.models $secret -}}
{{-   $found := lookup "v1" "Secret" $namespace $secret -}}
{{-   if not $found -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" (printf "%s.secretName" .at) "value" $secret "why" (printf "namespace %s has no Secret of this name" $namespace)
            "fix" (printf "create it first: kubectl create secret generic %s -n %s --from-literal=%s=..." $secret $namespace (index $given "key"))) -}}
{{-   else if not (hasKey (index $found "data" | default dict) (index $given "key" | default "")) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" (printf "%s.key" .at) "value" (index $given "key") "why" (printf "Secret %s has no such key" $secret)
            "fix" (printf "use one of: %s" (keys (index $found "data" | default dict) | sortAlpha | join ", "))) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* What the API server knows: KEDA, and the Secrets that values name. PriorityClasses and RuntimeClasses are not looked up:
       who may only work in one namespace may not read them, and Helm ends at a look-up that is refused.
       Context: dict root, faults. */ -}}
{{- define "tkc.validate.lifecycleLive" -}}
{{- $root := .root -}}
{{- range list "apiKey" "cacheSalt" -}}
{{-   include "tkc.validate.givenSecretLive" (merge (dict "at" .) $) -}}
{{- end -}}
{{- if not ($root.Capabilities.APIVersions.Has "keda.sh/v1alpha1") -}}
{{-   range $root.tkc.deployed -}}
{{-     if and .spec.autoscaling.enabled (eq (index .spec.autoscaling "type" | default "") "keda") -}}
{{-       include "tkc.modelFault" (dict "root" $root "faults" $.faults "model" . "path" "autoscaling.type" "why" "this cluster has no KEDA (no keda.sh/v1alpha1)" "fix" "install KEDA 2.17 or newer, or set autoscaling.type: hpa") -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
