{{- /* Init container that downloads a model to the model store, once for all Pods that share the store.
       Context everywhere: model context. */ -}}

{{- define "model-endpoint.engine.fetchContainer" -}}
{{- $hooks := .root.tkc.values.hooks -}}
{{- $store := .root.tkc.values.modelStore -}}
name: fetch
image: {{ include "tkc.image" $hooks.image | quote }}
imagePullPolicy: {{ $hooks.image.pullPolicy }}
args:
  - fetch
  - --store
  - /model-store
  - --store-type
  - {{ $store.type }}
  - --model
  - {{ .name | quote }}
  - --link
  - {{ .path | quote }}
  - --deadline
  - {{ int64 $store.deadlineSeconds | quote }}
{{- if eq $store.type "emptyDir" }}
# The kubelet would evict the Pod in the midst of it.
  - --size-limit
  - {{ include "tkc.quantity.bytes" $store.size | quote }}
{{- end }}
env:
  {{- include "model-endpoint.engine.podName" . | nindent 2 }}
  - name: POD_UID
    valueFrom:
      fieldRef:
        fieldPath: metadata.uid
  - name: HOME
    value: /tmp
  - name: TKC_SOURCE
    value: {{ include "tkc.yamlText" (include "model-endpoint.engine.fetchSource" . | replace "$(" "$$(") }}
  {{- with include "model-endpoint.engine.fetchSecrets" . | trim }}{{ . | nindent 2 }}{{ end }}
  {{- with include "model-endpoint.engine.proxyEnv" . | trim }}{{ . | nindent 2 }}{{ end }}
resources:
  {{- include "tkc.resources" $store.resources | nindent 2 }}
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: model-store
    mountPath: /model-store
  - name: models
    mountPath: /models
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- /* What to fetch, as JSON: no secret, only the names of Secrets, for messages. */ -}}
{{- define "model-endpoint.engine.fetchSource" -}}
{{- with .spec.source.huggingFace -}}
{{-   $source := dict "id" .id "revision" .revision -}}
{{-   with index . "endpoint" -}}{{- $_ := set $source "endpoint" . -}}{{- end -}}
{{-   with index . "tokenSecret" -}}{{- $_ := set $source "tokenSecret" (dict "name" .name "key" (index . "key" | default "token")) -}}{{- end -}}
{{-   toJson (dict "huggingFace" $source) -}}
{{- end -}}
{{- with .spec.source.s3 -}}
{{-   $source := dict "bucket" .bucket "prefix" (index . "prefix" | default "" | trimAll "/") -}}
{{-   range $key := list "region" "endpoint" -}}{{- with index $.spec.source.s3 $key -}}{{- $_ := set $source $key . -}}{{- end -}}{{- end -}}
{{-   with index . "credentialsSecret" -}}{{- $_ := set $source "credentialsSecret" (dict "name" .name) -}}{{- end -}}
{{-   toJson (dict "s3" $source) -}}
{{- end -}}
{{- end -}}

{{- /* Token or keys, by reference. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.fetchSecrets" -}}
{{- with .spec.source.huggingFace -}}
{{- with index . "tokenSecret" -}}
- name: HF_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ index . "key" | default "token" | quote }}
{{- end -}}
{{- end -}}
{{- with .spec.source.s3 -}}
{{- with index . "credentialsSecret" -}}
{{- $name := .name -}}
{{- range $key := list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $name | quote }}
      key: {{ $key }}
{{- end }}
- name: AWS_SESSION_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $name | quote }}
      key: AWS_SESSION_TOKEN
      optional: true
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The proxy that users give the engine is meant for this download. YAML list, or nothing. */ -}}
{{- define "model-endpoint.engine.proxyEnv" -}}
{{- range $name, $value := .spec.engine.env }}
{{- if has (upper $name) (list "HTTP_PROXY" "HTTPS_PROXY" "ALL_PROXY" "NO_PROXY") }}
- name: {{ $name | quote }}
  value: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}
