{{- /* Rules for the hook that calls AWS. Context: dict root, faults. */ -}}
{{- define "tkc.validate.aws" -}}
{{- $values := .root.tkc.values -}}
{{- if include "tkc.aws.enabled" .root -}}
{{-   $paths := list "apply" "region" "clusterName" "eksClusterName" "tieredStorage.enabled" "tieredStorage.percentage" "addons" "deadlineSeconds" -}}
{{-   $keys := list -}}
{{-   range $paths -}}{{- $keys = append $keys (printf "hooks.aws.%s" .) -}}{{- end -}}
{{-   if include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" $keys) -}}
{{-     include "tkc.validate.awsValues" (dict "faults" .faults "values" $values "aws" $values.hooks.aws) -}}
{{-   end -}}
{{-   if not .root.tkc.models -}}
{{-     include "tkc.validate.image" (dict "faults" .faults "key" "hooks.image" "image" (index $values.hooks "image" | default dict)) -}}
{{-     include "tkc.validate.resources" (dict "faults" .faults "key" "hooks.resources" "resources" (index $values.hooks "resources" | default dict)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Context: dict faults, values, aws. */ -}}
{{- define "tkc.validate.awsValues" -}}
{{- $faults := .faults -}}
{{- if eq (.values.platform | default "auto") "kubernetes" -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.enabled" "value" true "why" "platform is kubernetes, and the hook changes a SageMaker HyperPod cluster" "fix" "set platform: auto on HyperPod, or hooks.aws.enabled: false") -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]{2,}(-[a-z]+)+-[0-9]+$" .aws.region) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.region" "value" .aws.region "why" "hooks.aws.enabled is true, and this is no region's name" "fix" "write it like eu-west-1") -}}
{{- end -}}
{{- if not (regexMatch "^(arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:cluster/[a-z0-9]{12}|[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62})$" .aws.clusterName) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.clusterName" "value" .aws.clusterName "why" "hooks.aws.enabled is true, and this is neither the name nor the ARN of a HyperPod cluster" "fix" "copy it from: aws sagemaker list-clusters") -}}
{{- end -}}
{{- if not (regexMatch "^([0-9A-Za-z][A-Za-z0-9_-]{0,99})?$" .aws.eksClusterName) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.eksClusterName" "value" .aws.eksClusterName "why" "not the name of an EKS cluster" "fix" "copy it from: aws eks list-clusters; or leave it empty: the HyperPod cluster tells") -}}
{{- end -}}
{{- $percentage := int64 .aws.tieredStorage.percentage -}}
{{- if or (lt $percentage 0) (gt $percentage 100) -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.tieredStorage.percentage" "value" .aws.tieredStorage.percentage "why" "AWS's API takes 0 to 100 percent of each instance's memory" "fix" "give 20 to 100, as AWS's walkthrough says") -}}
{{- end -}}
{{- include "tkc.validate.awsRole" (dict "faults" $faults "key" "hooks.aws.roleArn" "role" (index .aws "roleArn")) -}}
{{- if and (index .aws "roleArn") (hasKey (index .aws "serviceAccountAnnotations" | default dict) "eks.amazonaws.com/role-arn") -}}
{{-   include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.roleArn" "value" .aws.roleArn "why" "serviceAccountAnnotations has eks.amazonaws.com/role-arn as well" "fix" "keep one of both") -}}
{{- end -}}
{{- range $name, $value := index .aws "serviceAccountAnnotations" -}}
{{-   if not (include "tkc.validate.qualifiedName" $name) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.serviceAccountAnnotations" "value" $name "why" "no legal key: a name of at most 63 characters, and before it, if at all, a DNS name and a slash" "fix" "write it like eks.amazonaws.com/role-arn") -}}
{{-   end -}}
{{-   if not (kindIs "string" $value) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" "hooks.aws.serviceAccountAnnotations" "value" (dict $name $value) "why" (include "tkc.misread" $value) "fix" (include "tkc.quoteIt" $name)) -}}
{{-   end -}}
{{- end -}}
{{- include "tkc.validate.awsAddons" . -}}
{{- end -}}

{{- /* Context: dict faults, key, role (may be nil). */ -}}
{{- define "tkc.validate.awsRole" -}}
{{- if and .role (not (regexMatch "^arn:aws[a-z-]*:iam::[0-9]{12}:role/[a-zA-Z0-9_+=,.@/-]+$" .role)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .role "why" "not the ARN of an IAM role" "fix" "write it like arn:aws:iam::123456789012:role/name") -}}
{{- end -}}
{{- end -}}

{{- /* The operator's add-on waits for what it needs. Context: as of tkc.validate.awsValues. */ -}}
{{- define "tkc.validate.awsAddons" -}}
{{- $faults := .faults -}}
{{- $seen := list -}}
{{- range $index, $addon := .aws.addons -}}
{{-   $key := printf "hooks.aws.addons[%d]" $index -}}
{{-   $name := index $addon "name" | default "" -}}
{{-   if not (regexMatch "^[a-zA-Z0-9][a-zA-Z0-9_.-]*$" $name) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" (printf "%s.name" $key) "value" $name "why" "not the name of an add-on" "fix" "copy it from: aws eks describe-addon-versions") -}}
{{-   else if has $name $seen -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" (printf "%s.name" $key) "value" $name "why" "twice in the list" "fix" "keep one") -}}
{{-   else if and (has "amazon-sagemaker-hyperpod-inference" $seen) (has $name (list "aws-mountpoint-s3-csi-driver" "aws-fsx-csi-driver" "metrics-server" "cert-manager")) -}}
{{-     include "tkc.fault" (dict "faults" $faults "key" (printf "%s.name" $key) "value" $name "why" "amazon-sagemaker-hyperpod-inference, which needs it, is before it, and the list is the order" "fix" "put amazon-sagemaker-hyperpod-inference last") -}}
{{-   end -}}
{{-   $seen = append $seen $name -}}
{{-   include "tkc.validate.awsRole" (dict "faults" $faults "key" (printf "%s.serviceAccountRoleArn" $key) "role" (index $addon "serviceAccountRoleArn")) -}}
{{- end -}}
{{- end -}}
