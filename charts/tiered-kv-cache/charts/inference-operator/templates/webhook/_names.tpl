{{- /* The webhook: names, and which of its parts there are. Context everywhere: root. */ -}}

{{- /* Of the Deployment, its Service, account, budget and NetworkPolicy, and of the Secret that holds what it shows to the API server. */ -}}
{{- define "inference-operator.webhook.name" -}}
{{- include "inference-operator.patch.name" . -}}
{{- end -}}

{{- /* Of whoever makes the certificate (source release): before or after an install or upgrade, or every day. A CronJob's name has at most 52
       characters, so that a long one ends in a hash. Context: dict root, when. */ -}}
{{- define "inference-operator.certificate.name" -}}
{{- include "tkc.name.within" (dict "name" (include "tkc.name" (dict "root" .root "part" (printf "l2-certificate-%s" .when))) "most" 52) -}}
{{- end -}}

{{- /* The same for what belongs to no namespace. */ -}}
{{- define "inference-operator.certificate.clusterName" -}}
{{- printf "%s.certificate-%s" (include "inference-operator.patch.clusterName" .root) .when -}}
{{- end -}}

{{- define "inference-operator.certificate.component" -}}l2-certificate{{- end -}}

{{- define "inference-operator.webhook.host" -}}
{{- printf "%s.%s.svc" (include "inference-operator.webhook.name" .) .Release.Namespace -}}
{{- end -}}

{{- /* "true" if the release runs it: where it is the mechanism, and for one more upgrade where the cluster has it and the policies that
       take over are not there yet: the API server looks for new policies once a second, and forgets a webhook at once, so that Pods would be
       created unpatched in between. Both together change a Pod as one of them does. */ -}}
{{- define "inference-operator.webhook.enabled" -}}
{{- if include "inference-operator.patch.wanted" . -}}
{{-   if eq (include "inference-operator.patch.mechanism" .) "webhook" }}true
{{-   else if include "inference-operator.webhook.leaving" . }}true
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "inference-operator.webhook.leaving" -}}
{{- $name := include "inference-operator.patch.clusterName" . -}}
{{- if lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" $name -}}
{{-   if not (lookup "admissionregistration.k8s.io/v1" "MutatingAdmissionPolicy" "" $name) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* "certManager" or "release". */ -}}
{{- define "inference-operator.certificate.source" -}}
{{- $asked := .tkc.values.inferenceOperator.l2Patch.webhook.certificate.source -}}
{{- if ne $asked "auto" }}{{ $asked }}
{{- else if or (.Capabilities.APIVersions.Has "cert-manager.io/v1") (.Capabilities.APIVersions.Has "cert-manager.io/v1/Certificate") }}certManager
{{- else }}release
{{- end -}}
{{- end -}}

{{- /* "true" if Jobs of the release make the certificate. */ -}}
{{- define "inference-operator.certificate.own" -}}
{{- if include "inference-operator.webhook.enabled" . -}}
{{-   if eq (include "inference-operator.certificate.source" .) "release" }}true{{ end -}}
{{- end -}}
{{- end -}}
