{{- /* The webhook's certificate. Nothing random is rendered: two renders are equal, and an upgrade keeps what there is.
       Context everywhere: root. */ -}}

{{- /* An authority of its own, which signs the server's certificates: each renewal of a self-signed one would be a new authority, which no
       API server trusts yet. */ -}}
{{- define "inference-operator.certificate.certManager" -}}
{{- $name := include "inference-operator.webhook.name" . -}}
{{- $ca := include "tkc.name" (dict "root" . "part" "l2-ca") -}}
{{- $self := include "tkc.name" (dict "root" . "part" "l2-self") -}}
{{ include "inference-operator.certificate.object" (dict "root" . "kind" "Issuer" "name" $self "spec" (dict "selfSigned" dict)) }}
---
{{ include "inference-operator.certificate.object" (dict "root" . "kind" "Certificate" "name" $ca "spec" (dict
     "secretName" $ca "issuerRef" (dict "kind" "Issuer" "name" $self) "isCA" true "commonName" $ca
     "duration" "87600h" "renewBefore" "8760h" "privateKey" (dict "algorithm" "ECDSA" "size" 256))) }}
---
{{ include "inference-operator.certificate.object" (dict "root" . "kind" "Issuer" "name" $ca "spec" (dict "ca" (dict "secretName" $ca))) }}
---
{{ include "inference-operator.certificate.object" (dict "root" . "kind" "Certificate" "name" $name "spec" (dict
     "secretName" $name "issuerRef" (dict "kind" "Issuer" "name" $ca) "dnsNames" (list (include "inference-operator.webhook.host" .))
     "duration" "2160h" "renewBefore" "720h" "privateKey" (dict "algorithm" "ECDSA" "size" 256 "rotationPolicy" "Always"))) }}
{{- end -}}

{{- /* An object of cert-manager's. Context: dict root, kind, name, spec. */ -}}
{{- define "inference-operator.certificate.object" -}}
apiVersion: cert-manager.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" .root | nindent 4 }}
spec: {{ toJson .spec }}
{{- end -}}

{{- /* What the Jobs are told. Context: dict root, first (whether the webhook configuration may be missing). */ -}}
{{- define "inference-operator.certificate.args" -}}
- l2-patch
- certificate
- --namespace={{ .root.Release.Namespace }}
- --secret={{ include "inference-operator.webhook.name" .root }}
- --service={{ include "inference-operator.webhook.name" .root }}
- --webhook={{ include "inference-operator.patch.clusterName" .root }}
{{- if .first }}
- --webhook-optional
{{- end }}
{{- end -}}

{{- /* Spec of a Job. Context: dict root, account, first. */ -}}
{{- define "inference-operator.certificate.job" -}}
{{- $root := .root -}}
{{- $webhook := $root.tkc.values.inferenceOperator.l2Patch.webhook -}}
{{- $image := $root.tkc.values.hooks.image -}}
backoffLimit: 2
activeDeadlineSeconds: {{ int64 $webhook.certificate.deadlineSeconds }}
ttlSecondsAfterFinished: 86400
template:
  metadata:
    {{- include "tkc.hookPod.metadata" (dict "root" $root "component" (include "inference-operator.certificate.component" $root)) | nindent 4 }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ .account }}
    automountServiceAccountToken: true
    terminationGracePeriodSeconds: 5
    {{- include "tkc.pod.common" $root | nindent 4 }}
    {{- with include "inference-operator.webhook.nodes" $root | trim }}{{ . | nindent 4 }}{{ end }}
    containers:
      - name: l2-certificate
        image: {{ include "tkc.image" $image | quote }}
        imagePullPolicy: {{ $image.pullPolicy }}
        args:
          {{- include "inference-operator.certificate.args" . | nindent 10 }}
        resources:
          {{- include "tkc.resources" $root.tkc.values.hooks.resources | nindent 10 }}
        securityContext:
          {{- include "tkc.container.securityContext" $root | nindent 10 }}
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
          - name: tmp
            mountPath: /tmp
    volumes:
      - name: tmp
        emptyDir: {}
{{- end -}}

{{- /* What whoever makes it may do in the release's namespace. A name cannot be asked for when something is created. Context: root. */ -}}
{{- define "inference-operator.certificate.rules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "inference-operator.webhook.name" . }}]
  verbs: [get, update]
{{- end -}}

{{- /* Account with both roles: the second one for the caBundle of the one webhook configuration, which belongs to no namespace.
       Context: dict root, when, annotations (of Helm, a text that may be empty). */ -}}
{{- define "inference-operator.certificate.account" -}}
{{- $name := include "inference-operator.certificate.name" . -}}
{{- $wide := include "inference-operator.certificate.clusterName" . -}}
{{- $component := include "inference-operator.certificate.component" .root -}}
{{- include "tkc.account" (dict "root" .root "name" $name "component" $component "annotations" .annotations "rules" (include "inference-operator.certificate.rules" .root)) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $wide }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" $component) | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
rules:
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations]
    resourceNames: [{{ include "inference-operator.patch.clusterName" .root }}]
    verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $wide }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" $component) | nindent 4 }}
  {{- with .annotations }}{{ . | nindent 2 }}{{ end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $wide }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end -}}

{{- /* Of an object of a Helm phase. Context: dict phases, weight. */ -}}
{{- define "inference-operator.certificate.hook" -}}
annotations:
  helm.sh/hook: {{ .phases }}
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* A Job of a Helm phase. Context: dict root, when, account, phases, first. */ -}}
{{- define "inference-operator.certificate.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "inference-operator.certificate.name" . }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" (include "inference-operator.certificate.component" .root)) | nindent 4 }}
  {{- include "inference-operator.certificate.hook" (dict "phases" .phases "weight" "-5") | nindent 2 }}
spec:
  {{- include "inference-operator.certificate.job" . | nindent 2 }}
{{- end -}}

{{- /* Renews what ends soon, and puts back what somebody deleted. Context: dict root, when. */ -}}
{{- define "inference-operator.certificate.cronJob" -}}
{{- $name := include "inference-operator.certificate.name" . -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" .root "component" (include "inference-operator.certificate.component" .root)) | nindent 4 }}
spec:
  # Not all releases at the same minute.
  schedule: {{ printf "%d 3 * * *" (mod (include "inference-operator.patch.clusterName" .root | adler32sum | int64) 60) | quote }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 2
  jobTemplate:
    spec:
      {{- include "inference-operator.certificate.job" (dict "root" .root "account" $name) | nindent 6 }}
{{- end -}}
