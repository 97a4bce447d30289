{{- /* The look at the cluster before anything is made. Context everywhere, if not said otherwise: root. */ -}}

{{- define "tkc.preflight.name" -}}
{{- include "tkc.name" (dict "root" . "part" "preflight") -}}
{{- end -}}

{{- /* "true" if the release has one: as soon as it makes anything. */ -}}
{{- define "tkc.preflight.enabled" -}}
{{- if and (index .tkc.values "hooks") (or .tkc.models (include "curvine.own" .) (include "inference-operator.patch.wanted" .)) -}}
{{-   if .tkc.values.hooks.preflight.enabled }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Of everything that the Job needs: hooks of the same phases, and earlier. Weights below 10 are left to what prepares a cluster.
       They go as soon as it has passed or failed. */ -}}
{{- define "tkc.preflight.annotations" -}}
annotations:
  helm.sh/hook: pre-install,pre-upgrade
  helm.sh/hook-weight: "10"
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* "true" if AWS's operator makes the engines' Pods. */ -}}
{{- define "tkc.preflight.hyperpod" -}}
{{- if or (index .tkc "hyperpod") (eq (index .tkc.values "platform" | default "") "hyperpod") }}true{{ end -}}
{{- end -}}

{{- /* What the release needs, as JSON. */ -}}
{{- define "tkc.preflight.config" -}}
{{- $values := .tkc.values -}}
{{- $hyperpod := eq (include "tkc.preflight.hyperpod" .) "true" -}}
{{- $config := dict
      "platform" (ternary "hyperpod" "kubernetes" $hyperpod)
      "namespace" .Release.Namespace
      "instance" .tkc.instance
      "claims" (include "tkc.preflight.claims" . | fromJsonArray)
      "drivers" (include "tkc.preflight.drivers" . | fromJsonArray)
      "parts" (include "tkc.preflight.parts" . | fromJsonArray)
      "accounts" (include "tkc.preflight.accounts" . | fromJsonArray)
      "security" (include "tkc.preflight.security" . | fromJsonArray)
      "workloads" (include "tkc.preflight.workloads" . | fromJsonArray)
      "tolerate" ($values.hooks.preflight.tolerate | default list) -}}
{{- $secrets := list -}}
{{- range $values.imagePullSecrets -}}{{- $secrets = append $secrets .name -}}{{- end -}}
{{- $_ := set $config "pullSecrets" $secrets -}}
{{- $operator := index $values "inferenceOperator" | default dict -}}
{{- if $hyperpod -}}
{{-   $_ := set $config "operator" (dict "namespace" (include "tkc.preflight.operatorNamespace" .) "version" (include "tkc.scalar" (index $operator "version" | default ""))) -}}
{{- end -}}
{{- if include "inference-operator.patch.wanted" . -}}
{{-   $mechanism := include "inference-operator.patch.mechanism" . -}}
{{-   $asked := dig "l2Patch" "webhook" "certificate" "source" "" $operator -}}
{{-   $_ := set $config "patch" (dict "mechanism" $mechanism "certManager" (and (eq $mechanism "webhook") (eq $asked "certManager"))) -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{- define "tkc.preflight.operatorNamespace" -}}
{{- index (index .tkc.values "inferenceOperator" | default dict) "namespace" | default "hyperpod-inference-system" -}}
{{- end -}}

{{- /* A claim that the release makes, with what Kubernetes would not change in one that is there already: look-ups of templates see nothing
       where GitOps renders (validate/_kept.tpl). JSON object. Context: dict root, claim, size, class. */ -}}
{{- define "tkc.preflight.madeClaim" -}}
{{- $recipe := dict "root" .root "claim" .claim.name -}}
{{- if not .class -}}{{- $_ := set $recipe "volume" (include "tkc.staticVolume.name" (dict "root" .root "claim" .claim.name)) -}}{{- end -}}
{{- toJson (merge (dict "size" (include "tkc.quantity.bytes" .size | int64) "madeClass" .class "recipe" (include "tkc.validate.keptRecipe" $recipe)) .claim) -}}
{{- end -}}

{{- /* Claims that Pods mount. JSON list. */ -}}
{{- define "tkc.preflight.claims" -}}
{{- $claims := list -}}
{{- $values := .tkc.values -}}
{{- if include "tkc.l2.used" . -}}
{{-   $given := eq $values.l2.volume.type "existingClaim" -}}
{{-   $claim := dict "key" (ternary "l2.volume.claimName" "l2.volume" $given) "name" (include "tkc.l2.claimName" .) "mode" "ReadWriteMany" "made" (not $given) -}}
{{-   if not $given -}}
{{-     $class := "" -}}
{{-     if include "curvine.csi" . -}}{{- $class = include "curvine.csi.className" . -}}{{- end -}}
{{-     $claim = include "tkc.preflight.madeClaim" (dict "root" $ "claim" $claim "size" $values.l2.volume.size "class" $class) | fromJson -}}
{{-   end -}}
{{-   $claims = append $claims $claim -}}
{{- end -}}
{{- if include "tkc.modelStore.used" . -}}
{{-   if eq $values.modelStore.type "existingClaim" -}}
{{-     $claims = append $claims (dict "key" "modelStore.claimName" "name" (include "tkc.modelStore.claimName" .)) -}}
{{-   else if eq $values.modelStore.type "hostPath" -}}
{{-     $claim := dict "key" "modelStore" "name" (include "tkc.modelStore.claimName" .) "made" true -}}
{{-     $claims = append $claims (include "tkc.preflight.madeClaim" (dict "root" $ "claim" $claim "size" $values.modelStore.size "class" "") | fromJson) -}}
{{-   end -}}
{{- end -}}
{{- range $model := .tkc.models -}}
{{-   with $model.spec.source.claim -}}{{- $claims = append $claims (dict "key" (printf "models.%s.source.claim.name" $model.name) "name" .name) -}}{{- end -}}
{{- end -}}
{{- toJson $claims -}}
{{- end -}}

{{- /* CSI drivers. JSON list. */ -}}
{{- define "tkc.preflight.drivers" -}}
{{- $drivers := list -}}
{{- if include "curvine.csi" . -}}
{{-   $drivers = append $drivers (dict "key" "curvine.client.mode" "name" (include "curvine.csi.driver" .) "made" (eq (include "curvine.own" .) "true")) -}}
{{- end -}}
{{- range .tkc.models -}}
{{-   if include "model-endpoint.engine.mountpoint" . -}}{{- $drivers = append $drivers (dict "key" (printf "models.%s.source.s3.mode" .name) "name" "s3.csi.aws.com") -}}{{- end -}}
{{-   if index .spec.source "fsx" -}}{{- $drivers = append $drivers (dict "key" (printf "models.%s.source.fsx" .name) "name" "fsx.csi.aws.com") -}}{{- end -}}
{{- end -}}
{{- toJson $drivers -}}
{{- end -}}

{{- /* DaemonSets and StatefulSets of others. JSON list. */ -}}
{{- define "tkc.preflight.parts" -}}
{{- $parts := list -}}
{{- if and (include "curvine.used" .) (not (include "curvine.own" .)) -}}
{{-   $client := ternary (include "curvine.csi-node.name" .) (include "curvine.client.name" .) (eq (include "curvine.csi" .) "true") -}}
{{-   $namespace := include "curvine.namespace" . -}}
{{-   $parts = list
        (dict "key" "curvine.pool" "kind" "StatefulSet" "namespace" $namespace "name" (include "curvine.masters.name" .))
        (dict "key" "curvine.pool" "kind" "DaemonSet" "namespace" $namespace "name" (include "curvine.workers.name" .))
        (dict "key" "curvine.pool" "kind" "DaemonSet" "namespace" $namespace "name" $client) -}}
{{- end -}}
{{- if include "tkc.preflight.hyperpod" . -}}
{{-   $parts = append $parts (dict "key" "AWS's tiered storage" "kind" "DaemonSet" "namespace" "aws-hyperpod" "name" "ai-toolkit" "required" false) -}}
{{- end -}}
{{- toJson $parts -}}
{{- end -}}

{{- /* ServiceAccounts that the release does not make. JSON list. */ -}}
{{- define "tkc.preflight.accounts" -}}
{{- $accounts := list -}}
{{- range $model := .tkc.models -}}
{{-   with dig "serviceAccountName" "" (index $model.spec "hyperpod" | default dict) -}}
{{-     $accounts = append $accounts (dict "key" (printf "models.%s.hyperpod.serviceAccountName" $model.name) "name" . "assignable" true) -}}
{{-   end -}}
{{- end -}}
{{- toJson $accounts -}}
{{- end -}}

{{- /* Namespaces whose Pods need more than Pod Security "restricted" gives. JSON list. */ -}}
{{- define "tkc.preflight.security" -}}
{{- $needs := list -}}
{{- if include "curvine.own" . -}}
{{-   $needs = append $needs (dict "namespace" .Release.Namespace "level" "privileged" "why" "the pool's workers use the nodes' disks, and its mounts need /dev/fuse") -}}
{{- end -}}
{{- if include "inference-operator.patch.wanted" . -}}
{{-   range $namespace, $_ := include "inference-operator.patch.targets" . | fromJson -}}
{{-     $needs = append $needs (dict "namespace" $namespace "level" "privileged" "sure" false "why" "the operator's workers were seen to mount /dev/shm of the node where tiered storage is on") -}}
{{-   end -}}
{{- end -}}
{{- toJson $needs -}}
{{- end -}}
