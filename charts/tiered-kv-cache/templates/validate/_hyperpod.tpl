{{- /* Rules for endpoints that AWS's Inference Operator runs. Its definition takes much that its controller then refuses, minutes
       later and in a condition only. docs/hyperpod.md tells where each limit is known from. Context everywhere, if not said
       otherwise: dict root, faults, model. */ -}}

{{- /* Rules for the release. Context: dict root, faults. */ -}}
{{- define "tkc.validate.operator" -}}
{{- $operator := index .root.tkc.values "inferenceOperator" | default dict -}}
{{- $version := index $operator "version" | default "" -}}
{{- if not (kindIs "string" $version) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.version" "value" $version "why" "YAML read the version as a number, so that digits may be lost (3.10 is 3.1 to it)" "fix" "quote it: version: \"3.7\" (with --set use --set-string)") -}}
{{- else if $version -}}
{{-   if not (regexMatch "^v?[0-9]+[.][0-9]+([.][0-9]+)?$" $version) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.version" "value" $version "why" "not a version of the operator" "fix" "write it like \"3.7\"; the tag of the manager's image tells it") -}}
{{-   else if not (include "tkc.pairs.atLeast" (dict "have" $version "least" "3.2")) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.version" "value" $version "why" "older than 3.2, whose resource is the oldest that the chart renders" "fix" "upgrade the operator") -}}
{{-   end -}}
{{- end -}}
{{- if .root.tkc.hyperpod -}}
{{-   if eq (index $operator "mode" | default "detect") "none" -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "inferenceOperator.mode" "value" "none" "why" "platform is hyperpod, whose endpoints only the operator runs" "fix" "set inferenceOperator.mode: detect, or platform: kubernetes") -}}
{{-   end -}}
{{-   if .root.tkc.endpoints -}}{{- include "tkc.validate.operatorRelease" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What a release with endpoints cannot have. Context: dict root, faults. */ -}}
{{- define "tkc.validate.operatorRelease" -}}
{{- $values := .root.tkc.values -}}
{{- if index (index $values "gateway" | default dict) "enabled" -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "gateway.enabled" "value" true "why" "on HyperPod each endpoint has a load balancer of its own, and no Service that the gateway could call" "fix" "set it to false; helm status tells each model's URL") -}}
{{- end -}}
{{- if $values.imagePullSecrets -}}
{{-   range .root.tkc.endpoints -}}
{{-     if not .spec.hyperpod.serviceAccountName -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" "imagePullSecrets" "value" $values.imagePullSecrets "why" "an InferenceEndpointConfig cannot name pull secrets, so that its Pods would not get them"
                "fix" "give them to a ServiceAccount (imagePullSecrets) with label sagemaker.amazonaws.com/user-assignable=true, and name it in defaults.hyperpod.serviceAccountName") -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Rules for one model. */ -}}
{{- define "tkc.validate.hyperpod" -}}
{{- include "tkc.validate.iecName" . -}}
{{- include "tkc.validate.iecNodes" . -}}
{{- include "tkc.validate.iecPod" . -}}
{{- include "tkc.validate.iecCache" . -}}
{{- include "tkc.validate.iecRouting" . -}}
{{- include "tkc.validate.iecTraffic" . -}}
{{- include "tkc.validate.iecRecords" . -}}
{{- include "tkc.validate.iecNewer" . -}}
{{- end -}}

{{- /* The operator makes a Service <name>-<namespace>-routing-service and an Ingress alb-<name>-<namespace> of it. */ -}}
{{- define "tkc.validate.iecName" -}}
{{- $name := include "tkc.model.name" .model -}}
{{- $both := add (len $name) (len .root.Release.Namespace) -}}
{{- $routing := .model.spec.hyperpod.intelligentRouting -}}
{{- $most := ternary 46 50 $routing -}}
{{- if gt (int $both) $most -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "models" "value" .model.name "why" (printf "the name %s and namespace %s have %d characters together, and the operator makes names of both: %d are possible%s" $name .root.Release.Namespace $both $most (ternary " with its router" "" $routing))
          "fix" (printf "shorten the key, the release's name (nameOverride) or the namespace by %d characters" (sub $both $most))) -}}
{{- end -}}
{{- $endpoint := .model.spec.hyperpod.endpointName -}}
{{- if and $endpoint (not (regexMatch "^[a-z0-9](-*[a-z0-9]){0,62}$" $endpoint)) -}}
{{-   $lower := regexReplaceAll "[^a-z0-9]+" (lower $endpoint) "-" | trimAll "-" -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.endpointName" "why" "the operator names objects of Kubernetes after it: only a-z, 0-9 and -, beginning and ending with a letter or digit" "fix" (printf "write it in small letters, for example %s" ($lower | default "my-endpoint"))) .) -}}
{{- end -}}
{{- end -}}

{{- /* instanceType, instanceTypes and nodeAffinity exclude each other, and there is no other way to choose nodes. */ -}}
{{- define "tkc.validate.iecNodes" -}}
{{- $spec := .model.spec -}}
{{- $affinity := index $spec.affinity "nodeAffinity" -}}
{{- if and $spec.instanceTypes $affinity -}}
{{-   include "tkc.modelFault" (merge (dict "path" "instanceTypes" "why" "an InferenceEndpointConfig takes instance types or affinity.nodeAffinity, not both" "fix" "keep one: nodeAffinity can ask for node.kubernetes.io/instance-type, too, and an overlay deletes an inherited one with null") .) -}}
{{- end -}}
{{- range $kind := list "podAffinity" "podAntiAffinity" -}}
{{-   if index $spec.affinity $kind -}}
{{-     include "tkc.modelFault" (merge (dict "path" (printf "affinity.%s" $kind) "why" "an InferenceEndpointConfig has no such field" "fix" "take it out; affinity.nodeAffinity is possible") $) -}}
{{-   end -}}
{{- end -}}
{{- if $spec.nodeSelector -}}
{{-   include "tkc.modelFault" (merge (dict "path" "nodeSelector" "why" "an InferenceEndpointConfig has no such field" "fix" "name instanceTypes, or write it as affinity.nodeAffinity") .) -}}
{{- end -}}
{{- if $spec.routing.nodeSelector -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.nodeSelector" "why" "the operator runs the router, in its own namespace" "fix" "take it out") .) -}}
{{- end -}}
{{- if $spec.runtimeClassName -}}
{{-   include "tkc.modelFault" (merge (dict "path" "runtimeClassName" "why" "an InferenceEndpointConfig has no such field" "fix" "take it out: the nodes' own runtime is used") .) -}}
{{- end -}}
{{- end -}}

{{- /* Names that the operator has in its Pods. */ -}}
{{- define "tkc.validate.iecPod" -}}
{{- $own := .model.spec.hyperpod -}}
{{- if has $own.modelVolume (list "model-weights-copy" "host-shm" "lmcache-config" "tkc-l2" "tkc-run") -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.modelVolume" "why" (ternary "the chart has a volume of this name" "the operator has a volume of its own of this name" (hasPrefix "tkc-" $own.modelVolume)) "fix" "use another name, for example model-weights") .) -}}
{{- end -}}
{{- range $name, $value := .model.spec.engine.env -}}
{{-   if or (has $name (list "NODE_IP" "OPTION_ROLLING_BATCH" "SAGEMAKER_SUBMIT_DIRECTORY" "MODEL_CACHE_ROOT" "SAGEMAKER_MODEL_SERVER_WORKERS" "SAGEMAKER_MODEL_SERVER_TIMEOUT"))
        (hasPrefix "LMCACHE_CONTROLLER_" $name) -}}
{{-     include "tkc.modelFault" (merge (dict "path" (printf "engine.env.%s" $name) "value" $value "why" "the operator sets this variable in its Pods, and two of one name are there then, or none" "fix" "take it out") $) -}}
{{-   end -}}
{{- end -}}
{{- $domain := printf "%s/" (include "tkc.domain" .) -}}
{{- range $name, $value := $own.labels -}}
{{-   if or (hasPrefix $domain $name) (hasPrefix "app.kubernetes.io/" $name) (has $name (list "app" "deploying-service" "pod-template-hash")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "hyperpod.labels" "value" $name "why" "this label is the chart's, the operator's or the cluster's own" "fix" "use another name") $) -}}
{{-   else if not (include "tkc.validate.qualifiedName" $name) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "hyperpod.labels" "value" $name "why" "no legal key: a name of at most 63 characters, and before it, if at all, a DNS name and a slash" "fix" "write it like kueue.x-k8s.io/queue-name") $) -}}
{{-   else -}}
{{-     include "tkc.validate.labelValue" (merge (dict "path" "hyperpod.labels" "name" $name "value" $value) $) -}}
{{-   end -}}
{{- end -}}
{{- $least := int64 .model.spec.probes.startup.budget -}}
{{- $most := index $own "maxDeployTimeInSeconds" -}}
{{- if $most -}}{{- if lt (int64 $most) $least -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.maxDeployTimeInSeconds" "why" (printf "the operator would give up while the engine may still start: probes.startup.budget is %d" $least) "fix" (printf "set it to %d or more, or leave it out" (add $least 600))) .) -}}
{{- end -}}{{- end -}}
{{- end -}}

{{- /* The operator starts LMCache, and tells it what the chart cannot. */ -}}
{{- define "tkc.validate.iecCache" -}}
{{- $spec := .model.spec -}}
{{- if and (include "model-endpoint.iec.cacheOn" .model) (eq (include "model-endpoint.engine.mode" .model) "multiProcess") -}}
{{-   if ne (int64 $spec.cache.chunkSize) 256 -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.chunkSize" "why" "in multi-process mode the operator starts LMCache's server, which then has LMCache's own default, 256" "fix" "set it to 256, or engine.lmcacheMode: inProcess") .) -}}
{{-   end -}}
{{- end -}}
{{- if $spec.cache.eagerPrefetch -}}
{{-   if eq (include "model-endpoint.engine.mode" .model) "multiProcess" -}}
{{-     include "tkc.modelFault" (merge (dict "path" "cache.eagerPrefetch" "why" "it is part of --kv-transfer-config, which the operator writes" "fix" "set it to false") .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.iecRouting" -}}
{{- $spec := .model.spec -}}
{{- $own := $spec.hyperpod -}}
{{- if $own.intelligentRouting -}}
{{-   if index (index .root.tkc.values "apiKey" | default dict) "secretName" -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "apiKey.secretName" "value" .root.tkc.values.apiKey.secretName "why" "the operator's router does not get a key from a Secret, and every request through it would end with 401"
            "fix" "leave it empty and guard the load balancer, or set hyperpod.intelligentRouting: false before the first install") -}}
{{-   end -}}
{{-   if gt (int64 $spec.routing.replicas) 1 -}}
{{-     include "tkc.modelFault" (merge (dict "path" "routing.replicas" "why" "the operator runs the router, and how many is not for values to say" "fix" "set it to 1") .) -}}
{{-   end -}}
{{-   if eq $spec.routing.strategy "kvaware" -}}{{- include "tkc.validate.iecKvAware" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The router reads "prompt" of a completion, and asks LMCache's controller. */ -}}
{{- define "tkc.validate.iecKvAware" -}}
{{- $spec := .model.spec -}}
{{- if or (hasSuffix "chat/completions" $spec.hyperpod.invocationEndpoint) (not (regexMatch "(^|/)completions$" $spec.hyperpod.invocationEndpoint)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.invocationEndpoint" "why" "strategy kvaware understands completions only, no chat" "fix" "set it to v1/completions, or use routing.strategy: prefixaware") .) -}}
{{- end -}}
{{- if not $spec.cache.l1.enabled -}}
{{-   include "tkc.modelFault" (merge (dict "path" "routing.strategy" "why" "kvaware asks LMCache what lies in an engine's L1, and cache.l1.enabled is false" "fix" "switch L1 on, or use prefixaware") .) -}}
{{- end -}}
{{- range $part, $least := dict "vllm" "0.19.1" "lmcache" "0.4.3" -}}
{{-   $have := index $spec.engine.versions $part | default "" -}}
{{-   if and $have (not (include "tkc.pairs.atLeast" (dict "have" $have "least" $least))) -}}
{{-     include "tkc.modelFault" (merge (dict "path" (printf "engine.versions.%s" $part) "why" (printf "strategy kvaware of this operator needs %s or newer" $least) "fix" "use a newer image, or routing.strategy: prefixaware") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.iecTraffic" -}}
{{- $own := .model.spec.hyperpod -}}
{{- $port := index $own.metrics "port" -}}
{{- if $port -}}{{- if ne (int64 $port) 8000 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.metrics.port" "why" "vLLM's metrics are on the port of its requests, 8000, and nothing answers on another" "fix" "leave it out") .) -}}
{{- end -}}{{- end -}}
{{- if ne $own.loadBalancer.healthCheckPath "/health" -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.loadBalancer.healthCheckPath" "why" "vLLM tells its health at /health" "fix" "set it to /health") .) -}}
{{- end -}}
{{- $limits := $own.requestLimits -}}
{{- $wanted := list -}}
{{- range $key, $value := $limits -}}{{- if not (kindIs "invalid" $value) -}}{{- $wanted = append $wanted $key -}}{{- end -}}{{- end -}}
{{- if and $wanted (not $own.metrics.enabled) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.requestLimits" "value" $limits "why" "the operator's proxy keeps them, and hyperpod.metrics.enabled is false, without which there is none" "fix" "set hyperpod.metrics.enabled: true, or take the limits out") .) -}}
{{- end -}}
{{- if and $wanted (not (has "maxConcurrentRequests" $wanted)) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.requestLimits" "value" $limits "why" "without maxConcurrentRequests nothing is limited" "fix" "set it, or take the others out") .) -}}
{{- end -}}
{{- $certificate := $own.tlsConfig.customCertificateConfig -}}
{{- $arn := index $certificate "acmArn" -}}
{{- $domain := index $certificate "domainName" -}}
{{- if ne (empty $arn) (empty $domain) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.tlsConfig.customCertificateConfig" "why" "a certificate of your own needs both its ARN and the domain name that clients use" "fix" (printf "give %s, too" (ternary "acmArn" "domainName" (empty $arn)))) .) -}}
{{- end -}}
{{- if and (index $own.dnsConfig "hostedZoneId") (not $arn) -}}
{{-   include "tkc.modelFault" (merge (dict "path" "hyperpod.dnsConfig.hostedZoneId" "why" "a record needs a certificate for its name" "fix" "set hyperpod.tlsConfig.customCertificateConfig") .) -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.iecRecords" -}}
{{- range $tier := list "sagemakerEndpoint" "loadBalancer" "modelPod" -}}
{{-   $one := index $.model.spec.hyperpod.dataCapture $tier -}}
{{-   if $one -}}
{{-     if kindIs "invalid" (index $one "enabled") -}}
{{-       include "tkc.modelFault" (merge (dict "path" (printf "hyperpod.dataCapture.%s" $tier) "why" "whether it records must be said" "fix" "add enabled: true or false") $) -}}
{{-     else if and (index $one "enabled") (not (index $.model.spec.hyperpod.dataCapture "s3Uri")) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "hyperpod.dataCapture" "why" (printf "%s records, and there is no place for it" $tier) "fix" "set hyperpod.dataCapture.s3Uri: s3://bucket/prefix") $) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Fields that this operator has not: one fault each, with the version that has it and the way out. */ -}}
{{- define "tkc.validate.iecNewer" -}}
{{- $ways := dict
      "podAnnotations" (list "podAnnotations" "take them out")
      "podLabels" (list "podLabels" "take them out; hyperpod.labels are those of the InferenceEndpointConfig itself")
      "tolerations" (list "tolerations" "take them out here (an overlay: tolerations: []) and let the nodes go without these taints")
      "priorityClassName" (list "priorityClassName" "take it out")
      "idleTimeoutSeconds" (list "hyperpod.loadBalancer.idleTimeoutSeconds" "take it out")
      "lmcacheMode" (list "engine.lmcacheMode" "set it to inProcess or auto") -}}
{{- range $field, $value := include "model-endpoint.iec.wanted" .model | fromJson -}}
{{-   $multi := and (eq $field "lmcacheMode") (ne $value "MultiProcess") -}}
{{-   if and (not $multi) (not (include "tkc.operator.place" (dict "root" $.root "field" $field))) -}}
{{-     $since := get (include "tkc.operator.fields" $.root | fromJson) $field | dig "since" "" -}}
{{-     $version := include "tkc.operator.version" $.root -}}
{{-     $way := get $ways $field -}}
{{-     $have := ternary (printf "operator %s" $version) (ternary "the definition that the cluster serves" "operator 3.2, which is assumed," (not (empty $.root.tkc.served))) (not (empty $version)) -}}
{{-     include "tkc.modelFault" (merge (dict "path" (first $way) "why" (printf "%s has no field for it; %s" $have (ternary (printf "operator %s has" $since) "none that is known has one" (not (empty $since))))
              "fix" (printf "%s%s" (last $way) (ternary (printf ", or, where the operator is new enough, set inferenceOperator.version: %q" $since) "" (not (empty $since))))) $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Triggers of the operator's KEDA. */ -}}
{{- define "tkc.validate.iecScaling" -}}
{{- $scaling := .model.spec.autoscaling -}}
{{- $own := .model.spec.hyperpod.autoscaling -}}
{{- $amp := "^https:\\/\\/aps-workspaces\\.[a-zA-Z0-9-]+(\\.[a-zA-Z0-9-]+)*\\.amazonaws\\.com\\/workspaces\\/ws-[a-zA-Z0-9-]+$" -}}
{{- $write := "write it like https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-..." -}}
{{- if include "tkc.validate.required" (dict "faults" .faults "from" .model.spec "prefix" (printf "models.%s." .model.name)
      "paths" (list "autoscaling.type" "autoscaling.minReplicas" "autoscaling.maxReplicas" "autoscaling.keda.query" "autoscaling.keda.pollingInterval" "autoscaling.keda.cooldownPeriod")) -}}
{{-   if gt (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.minReplicas" "why" (printf "more than autoscaling.maxReplicas: %d" (int64 $scaling.maxReplicas)) "fix" "lower it, or raise maxReplicas") .) -}}
{{-   end -}}
{{-   if ne $scaling.type "keda" -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.type" "why" "the operator scales by its own KEDA" "fix" "set it to keda, and give autoscaling.keda or hyperpod.autoscaling") .) -}}
{{-   end -}}
{{-   range $key := list "fallbackReplicas" "authenticationRef" -}}
{{-     if index $scaling.keda $key -}}
{{-       include "tkc.modelFault" (merge (dict "path" (printf "autoscaling.keda.%s" $key) "why" "an InferenceEndpointConfig has no such field" "fix" "take it out") $) -}}
{{-     end -}}
{{-   end -}}
{{-   if trim $scaling.keda.query -}}
{{-     if not (regexMatch $amp (index $scaling.keda "serverAddress" | default "")) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.serverAddress" "why" "the operator asks workspaces of Amazon Managed Service for Prometheus only" "fix" $write) .) -}}
{{-     end -}}
{{-     $threshold := include "tkc.scalar" (index $scaling.keda "threshold" | default "") -}}
{{-     if not (regexMatch "^[0-9]{1,15}(\\.[0-9]{1,9})?$" $threshold) -}}
{{-       include "tkc.modelFault" (merge (dict "path" "autoscaling.keda.threshold" "why" "not a number above 0" "fix" "set it to the query's value at which one more Pod is due, for example 5") .) -}}
{{-     end -}}
{{-   else if not (or $own.cloudWatchTriggers $own.prometheusTriggers) -}}
{{-     include "tkc.modelFault" (merge (dict "path" "autoscaling.enabled" "why" "there is nothing to scale by" "fix" "give autoscaling.keda.serverAddress, query and threshold, or hyperpod.autoscaling.cloudWatchTriggers or prometheusTriggers") .) -}}
{{-   end -}}
{{- end -}}
{{- range $index, $trigger := $own.prometheusTriggers -}}
{{-   $path := "hyperpod.autoscaling.prometheusTriggers" -}}
{{-   if not (regexMatch $amp (index $trigger "serverAddress" | default "")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $path "value" (index $trigger "serverAddress") "why" (printf "serverAddress of entry %d: the operator asks workspaces of Amazon Managed Service for Prometheus only" (add1 $index)) "fix" $write) $) -}}
{{-   end -}}
{{-   include "tkc.validate.iecTrigger" (merge (dict "path" $path "index" $index "trigger" $trigger "keys" (list "query" "targetValue")) $) -}}
{{- end -}}
{{- range $index, $trigger := $own.cloudWatchTriggers -}}
{{-   include "tkc.validate.iecTrigger" (merge (dict "path" "hyperpod.autoscaling.cloudWatchTriggers" "index" $index "trigger" $trigger "keys" (list "namespace" "metricName" "targetValue")) $) -}}
{{- end -}}
{{- end -}}

{{- /* Inside lists null deletes nothing. Context: as above and path, index, trigger, keys that it needs. */ -}}
{{- define "tkc.validate.iecTrigger" -}}
{{- range $key := .keys -}}
{{-   $value := index $.trigger $key -}}
{{-   if or (kindIs "invalid" $value) (eq (toString $value) "") -}}
{{-     include "tkc.modelFault" (merge (dict "path" $.path "value" $.trigger "why" (printf "entry %d has no %s" (add1 $.index) $key) "fix" "give it, or take the entry out") $) -}}
{{-   end -}}
{{- end -}}
{{- range index .trigger "dimensions" -}}
{{-   if or (not (index . "name")) (not (index . "value")) -}}
{{-     include "tkc.modelFault" (merge (dict "path" $.path "value" $.trigger "why" (printf "a dimension of entry %d has no name or no value" (add1 $.index)) "fix" "give both, or take the dimension out") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Sources as the operator can have them. */ -}}
{{- define "tkc.validate.iecSource" -}}
{{- $source := index .model.spec "source" | default dict -}}
{{- if index $source "imagePath" -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.imagePath" "why" "the operator always mounts a volume with the weights" "fix" "use source.huggingFace, s3, fsx or claim") .) -}}
{{- end -}}
{{- $none := "an InferenceEndpointConfig has no such field" -}}
{{- with index $source "huggingFace" -}}
{{-   if index . "endpoint" -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.huggingFace.endpoint" "why" $none "fix" "take it out, or copy the model to a bucket or claim") $) -}}
{{-   end -}}
{{- end -}}
{{- with index $source "s3" -}}
{{-   if index . "endpoint" -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.s3.endpoint" "why" $none "fix" "take it out, or copy the model to a bucket of AWS") $) -}}
{{-   end -}}
{{-   if index (index . "credentialsSecret" | default dict) "name" -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.s3.credentialsSecret.name" "why" "the S3 driver of the nodes reads the bucket with its own role" "fix" "take it out, and let that role read the bucket") $) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict root, faults, model. */ -}}
{{- define "tkc.validate.fsx" -}}
{{- $fsx := index .model.spec.source "fsx" -}}
{{- if not .root.tkc.hyperpod -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.fsx" "why" "only the Inference Operator of HyperPod mounts it" "fix" "make a claim of the FSx CSI driver, and use source.claim; or set platform: hyperpod") .) -}}
{{- end -}}
{{- if not (regexMatch "^fs-[0-9a-f]{8,40}$" (index $fsx "fileSystemId" | default "")) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.fsx.fileSystemId" "value" (index $fsx "fileSystemId" | default "") "why" "not the ID of a file system" "fix" "write it like fs-0123456789abcdef0; aws fsx describe-file-systems lists them") .) -}}
{{- end -}}
{{- $path := index $fsx "path" | default "" | trimAll "/" -}}
{{- if and $path (not (include "tkc.validate.cleanPath" (printf "/%s" $path))) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.fsx.path" "why" "not a path without ., .. and empty parts" "fix" "write it like models/my-model") .) -}}
{{- end -}}
{{- end -}}

{{- /* What the cluster knows: an endpoint that is there, and the ServiceAccount. Context: dict root, faults. */ -}}
{{- define "tkc.validate.operatorLive" -}}
{{- $root := .root -}}
{{- range $root.tkc.endpoints -}}
{{-   $name := include "tkc.model.name" . -}}
{{-   $model := . -}}
{{-   $found := dict -}}
{{-   if include "tkc.operator.served" $root -}}
{{-     $found = lookup (include "tkc.operator.api" $root) "InferenceEndpointConfig" $root.Release.Namespace $name | default dict -}}
{{-   else -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" "platform" "value" "hyperpod" "why" (printf "this cluster serves no InferenceEndpointConfig (%s)" (include "tkc.operator.api" $root)) "fix" "install the add-on amazon-sagemaker-hyperpod-inference first, or set platform: kubernetes") -}}
{{-   end -}}
{{-   if $found -}}
{{-     $live := dig "spec" "intelligentRoutingSpec" "enabled" false $found -}}
{{-     $wanted := .spec.hyperpod.intelligentRouting -}}
{{-     if ne (eq (toString $live) "true") $wanted -}}
{{-       include "tkc.modelFault" (dict "root" $root "faults" $.faults "model" $model "path" "hyperpod.intelligentRouting" "why" (printf "the endpoint %s is there with %v, and the operator refuses to change it" $name (eq (toString $live) "true"))
              "fix" (printf "set it back, or make the endpoint anew: kubectl delete inferenceendpointconfig %s -n %s" $name $root.Release.Namespace)) -}}
{{-     end -}}
{{-   end -}}
{{-   with .spec.hyperpod.serviceAccountName -}}
{{-     $account := lookup "v1" "ServiceAccount" $root.Release.Namespace . | default dict -}}
{{-     $label := dig "metadata" "labels" "sagemaker.amazonaws.com/user-assignable" "" $account -}}
{{-     if not $account -}}
{{-       include "tkc.modelFault" (dict "root" $root "faults" $.faults "model" $model "path" "hyperpod.serviceAccountName" "why" (printf "namespace %s has no ServiceAccount of this name" $root.Release.Namespace) "fix" (printf "create it: kubectl create serviceaccount %s -n %s, then label it sagemaker.amazonaws.com/user-assignable=true" . $root.Release.Namespace)) -}}
{{-     else if ne (toString $label) "true" -}}
{{-       include "tkc.modelFault" (dict "root" $root "faults" $.faults "model" $model "path" "hyperpod.serviceAccountName" "why" "without the label sagemaker.amazonaws.com/user-assignable=true the operator refuses it, minutes later"
              "fix" (printf "kubectl label serviceaccount %s -n %s sagemaker.amazonaws.com/user-assignable=true" . $root.Release.Namespace)) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
