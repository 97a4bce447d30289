{{- /* Tiered storage and EKS add-ons of a HyperPod cluster, before anything of the release is made. Context everywhere: root. */ -}}

{{- define "tkc.aws.name" -}}
{{- include "tkc.name" (dict "root" . "part" "aws") -}}
{{- end -}}

{{- /* "true" if the release has the hook. */ -}}
{{- define "tkc.aws.enabled" -}}
{{- if dig "hooks" "aws" "enabled" false .tkc.values }}true{{ end -}}
{{- end -}}

{{- /* What the verb is told, as JSON. It holds no credentials: they are the Pod's own identity. */ -}}
{{- define "tkc.aws.config" -}}
{{- $aws := .tkc.values.hooks.aws -}}
{{- $addons := list -}}
{{- range $aws.addons -}}
{{-   $addons = append $addons (dict
        "name" .name
        "version" (index . "version" | default "")
        "serviceAccountRoleArn" (index . "serviceAccountRoleArn" | default "")
        "configuration" (index . "configuration" | default dict)
        "resolveConflicts" (index . "resolveConflicts" | default "PRESERVE")) -}}
{{- end -}}
{{- toJson (dict
      "region" $aws.region
      "clusterName" $aws.clusterName
      "eksClusterName" $aws.eksClusterName
      "apply" $aws.apply
      "tieredStorage" (dict "enabled" $aws.tieredStorage.enabled "percentage" (int64 $aws.tieredStorage.percentage))
      "addons" $addons
      "deadlineSeconds" (sub (int64 $aws.deadlineSeconds) 15)) -}}
{{- end -}}

{{- /* Annotations of the hook's objects. Below preflight's, which looks at what this makes. Context: weight. */ -}}
{{- define "tkc.aws.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
{{- end -}}

{{- /* Annotations of the account. YAML map. */ -}}
{{- define "tkc.aws.annotations" -}}
{{- $aws := .tkc.values.hooks.aws -}}
{{- with index $aws "roleArn" }}
eks.amazonaws.com/role-arn: {{ . | quote }}
{{- end }}
{{- range $key, $value := index $aws "serviceAccountAnnotations" }}
{{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end -}}
