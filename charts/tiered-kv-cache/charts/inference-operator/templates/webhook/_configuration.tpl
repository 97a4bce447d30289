{{- /* Who is asked about: workers of the listed models, so that nothing else of a namespace waits for the server. Context: root. */ -}}
{{- define "inference-operator.webhook.conditions" -}}
{{- $any := list -}}
{{- $some := list -}}
{{- range $namespace, $target := include "inference-operator.patch.targets" . | fromJson -}}
{{-   if has "*" $target.models -}}{{- $any = append $any $namespace -}}
{{-   else -}}{{- $some = append $some (printf "request.namespace == '%s' && object.metadata.labels['app'] in %s" $namespace ($target.models | sortAlpha | toJson | replace "\"" "'")) -}}
{{-   end -}}
{{- end -}}
{{- if $any -}}{{- $some = prepend $some (printf "request.namespace in %s" ($any | toJson | replace "\"" "'")) -}}{{- end -}}
- name: worker-of-a-listed-model
  expression: |-
    {{- join "\n|| " $some | nindent 4 }}
{{- end -}}

{{- /* What tells the API server of the webhook. Context: root. */ -}}
{{- define "inference-operator.webhook.configuration" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: {{ include "inference-operator.patch.clusterName" . }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
  {{- if eq (include "inference-operator.certificate.source" .) "certManager" }}
  annotations:
    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "inference-operator.webhook.name" . }}
  {{- end }}
webhooks:
  - name: l2-patch.tiered-kv-cache.io
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    reinvocationPolicy: IfNeeded
    matchPolicy: Equivalent
    timeoutSeconds: 5
    # No caBundle: whoever makes the certificate puts it here, and Helm leaves alone what no chart has ever said.
    clientConfig:
      service:
        name: {{ include "inference-operator.webhook.name" . }}
        namespace: {{ .Release.Namespace | quote }}
        # With the revision of the parameters: a server that has others yet refuses, and the Pod is tried again.
        path: /pods/{{ include "inference-operator.patch.revision" . }}
        port: 443
    namespaceSelector:
      {{- include "inference-operator.patch.namespaceSelector" . | nindent 6 }}
    objectSelector:
      {{- include "inference-operator.patch.objectSelector" . | nindent 6 }}
    rules:
      {{- include "inference-operator.patch.rules" . | nindent 6 }}
    matchConditions:
      {{- include "inference-operator.webhook.conditions" . | nindent 6 }}
{{- end -}}
