{{- /* Rules for where the weights come from. Context everywhere, if not said otherwise: dict root, faults, model. */ -}}

{{- define "tkc.validate.source" -}}
{{- $source := omit (index .model.spec "source" | default dict) "identity" -}}
{{- $kinds := keys $source | sortAlpha -}}
{{- if not $kinds -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "models.%s.source" .model.name) "value" $source "why" "the model has no source"
          "fix" "set one of source.huggingFace: {id, revision}, source.s3: {bucket, prefix, region}, source.claim: {name, subPath}, source.imagePath: {path}, source.fsx: {fileSystemId, path}") -}}
{{- else if gt (len $kinds) 1 -}}
{{-   include "tkc.modelFault" (merge (dict "path" "source" "value" $source "why" (printf "%d sources at once: %s" (len $kinds) (join ", " $kinds)) "fix" "keep one; an overlay deletes an inherited one with null") .) -}}
{{- end -}}
{{- if hasKey $source "huggingFace" -}}{{- include "tkc.validate.huggingFace" (merge (dict "source" $source.huggingFace) .) -}}{{- end -}}
{{- if hasKey $source "s3" -}}{{- include "tkc.validate.s3" (merge (dict "source" $source.s3) .) -}}{{- end -}}
{{- if hasKey $source "fsx" -}}{{- include "tkc.validate.fsx" . -}}{{- end -}}
{{- if .root.tkc.hyperpod -}}{{- include "tkc.validate.iecSource" . -}}{{- end -}}
{{- if hasKey $source "claim" -}}
{{-   if not (index $source.claim "name") -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.claim.name" "value" "" "why" "the claim that holds the weights has no name" "fix" "name a claim of the release's namespace") .) -}}
{{-   end -}}
{{-   include "tkc.validate.claimName" (dict "faults" .faults "key" (printf "models.%s.source.claim.name" .model.name) "claim" (index $source.claim "name" | default "")) -}}
{{-   $sub := index $source.claim "subPath" | default "" -}}
{{-   if and $sub (not (include "tkc.validate.cleanPath" (printf "/%s" $sub))) -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.claim.subPath" "why" "not a relative path without ., .. and empty parts" "fix" "write it like models/my-model") .) -}}
{{-   end -}}
{{- end -}}
{{- if hasKey $source "imagePath" -}}
{{-   $path := index $source.imagePath "path" | default "" -}}
{{-   if not (include "tkc.validate.cleanPath" $path) -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.imagePath.path" "value" $path "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /models/my-model") .) -}}
{{-   else if and .root.tkc.values.l2.enabled (include "tkc.validate.overlap" (list $path (.root.tkc.values.l2.mountPath | default "-"))) -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.imagePath.path" "value" $path "why" (printf "the L2 volume is mounted at l2.mountPath, %s, so that one would hide or hold the other" .root.tkc.values.l2.mountPath) "fix" "put the weights elsewhere in the image, for example in /srv/weights, or set another l2.mountPath") .) -}}
{{-   else if or (regexMatch "^/(tmp|dev|proc|sys|run|var/run)(/|$)" $path) (and (not (regexMatch "^/(models|model-store)(/|$)" $path)) (include "tkc.validate.mounted" $path)) -}}
{{-     include "tkc.sourceFault" (merge (dict "path" "source.imagePath.path" "value" $path "why" "the Pods mount something else there, which would hide the image's own files" "fix" "put the weights elsewhere in the image, for example in /models") .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Adds a fault of a leaf of a source, named in the model or in the defaults, whichever chose this kind of source.
       Context: dict root, faults, model, path, why, fix, value (optional; else the merged value). */ -}}
{{- define "tkc.sourceFault" -}}
{{- $kind := index (splitList "." .path) 1 -}}
{{- $scope := ternary (printf "models.%s" .model.name) "defaults" (hasKey (index .model.given "source" | default dict) $kind) -}}
{{- $fault := dict "faults" .faults "key" (printf "%s.%s" $scope .path) "why" .why "fix" .fix -}}
{{- $merged := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $merged) -}}
{{- if hasKey . "value" -}}{{- $_ := set $fault "value" .value -}}
{{- else if hasKey $merged "value" -}}{{- $_ := set $fault "value" $merged.value -}}{{- end -}}
{{- include "tkc.fault" $fault -}}
{{- end -}}

{{- /* Context: as above and source. */ -}}
{{- define "tkc.validate.huggingFace" -}}
{{- $id := index .source "id" | default "" -}}
{{- $revision := include "tkc.scalar" (index .source "revision" | default "") -}}
{{- $endpoint := index .source "endpoint" | default "" -}}
{{- $known := regexMatch "^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$" $id -}}
{{- if not $known -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.huggingFace.id" "value" $id "why" "not the name of a repository: <organisation>/<name>" "fix" "copy it from the model's page, for example Qwen/Qwen2-7B-Instruct") .) -}}
{{- end -}}
{{- if not (regexMatch "^[0-9a-f]{40}$" $revision) -}}
{{-   $why := ternary "no commit is given; without one two Pods could get different weights" "not a commit of 40 hexadecimal digits (small letters); a branch or tag may change between two Pods" (empty $revision) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.huggingFace.revision" "value" $revision "why" $why
          "fix" (printf "write the commit, quoted. This prints it: git ls-remote %s/%s %s" (ternary $endpoint "https://huggingface.co" (hasPrefix "http" $endpoint) | trimSuffix "/") (ternary $id "<id>" $known) (ternary $revision "HEAD" (regexMatch "^[A-Za-z0-9._/-]+$" $revision)))) .) -}}
{{- end -}}
{{- include "tkc.validate.url" (merge (dict "path" "source.huggingFace.endpoint" "url" $endpoint "example" "https://hub.example.com") .) -}}
{{- include "tkc.validate.secretName" (merge (dict "path" "source.huggingFace.tokenSecret" "example" "hf-token") .) -}}
{{- end -}}

{{- /* Context: as above and source. */ -}}
{{- define "tkc.validate.s3" -}}
{{- $bucket := index .source "bucket" | default "" -}}
{{- $prefix := index .source "prefix" | default "" -}}
{{- $endpoint := index .source "endpoint" | default "" -}}
{{- if or (not (regexMatch "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$" $bucket)) (contains ".." $bucket) (regexMatch "^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$" $bucket) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.s3.bucket" "value" $bucket "why" "not the name of a bucket: 3 to 63 of a-z, 0-9, . and -, without .. and not an IP address" "fix" "write the name alone, without s3:// and without the folder") .) -}}
{{- end -}}
{{- if and (trimAll "/" $prefix) (not (regexMatch "^/?[A-Za-z0-9!_.'()=+@:~-]+(/[A-Za-z0-9!_.'()=+@:~-]+)*/?$" $prefix)) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.s3.prefix" "value" $prefix "why" "not a folder of a bucket: parts of letters, digits and ! _ . ' ( ) = + @ : ~ -, with / between" "fix" "write it like models/my-model") .) -}}
{{- end -}}
{{- if and (not $endpoint) (not (regexMatch "^[a-z]{2}(-[a-z]+)+-[0-9]$" (index .source "region" | default ""))) -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.s3.region" "value" (index .source "region" | default "") "why" "not a region, and there is no endpoint instead"
          "fix" (printf "set the bucket's region, for example us-west-2. This prints it: aws s3api get-bucket-location --bucket %s" ($bucket | default "<bucket>"))) .) -}}
{{- end -}}
{{- include "tkc.validate.url" (merge (dict "path" "source.s3.endpoint" "url" $endpoint "example" "https://s3.example.com") .) -}}
{{- if and (eq (index .source "mode" | default "download") "mountpoint") (hasKey .source "credentialsSecret") -}}
{{-   include "tkc.sourceFault" (merge (dict "path" "source.s3.credentialsSecret" "why" "with mode mountpoint the CSI driver reads with credentials of its own, so that the Secret would be ignored"
          "fix" "take it out and give the driver's ServiceAccount access to the bucket, or set mode: download") .) -}}
{{- else -}}
{{-   include "tkc.validate.secretName" (merge (dict "path" "source.s3.credentialsSecret" "example" "s3-reader") .) -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and path, url, example. */ -}}
{{- define "tkc.validate.url" -}}
{{- if and .url (not (regexMatch "^https?://[A-Za-z0-9.\\[\\]:_-]+(/[A-Za-z0-9._~/-]*)?$" .url)) -}}
{{-   include "tkc.sourceFault" (merge (dict "value" .url "why" "not a URL of http or https without user, query and blanks" "fix" (printf "write it like %s; keys and tokens belong into a Secret" .example)) .) -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and path (of a map with name), example. */ -}}
{{- define "tkc.validate.secretName" -}}
{{- $result := dict -}}
{{- include "tkc.at" (dict "from" .model.spec "path" .path "result" $result) -}}
{{- if hasKey $result "value" -}}
{{-   $name := index $result.value "name" | default "" -}}
{{-   $key := index $result.value "key" | default "key" -}}
{{-   if not (regexMatch "^[-._a-zA-Z0-9]{1,253}$" $key) -}}
{{-     include "tkc.sourceFault" (merge (dict "path" (printf "%s.key" .path) "value" $key "why" "no key of a Secret: 1 to 253 letters, digits, -, _ and ." "fix" "name the key that kubectl describe secret shows") .) -}}
{{-   end -}}
{{-   if not (include "tkc.validate.subdomain" $name) -}}
{{- /* Not shown: it may be the secret itself. */ -}}
{{-     include "tkc.sourceFault" (merge (dict "path" (printf "%s.name" .path) "value" (ternary "***" "" (not (empty $name))) "why" "not the name of a Secret" "fix" (printf "name a Secret of the release's namespace, for example %s; never the secret itself" .example)) .) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The model store, as soon as a model is downloaded. Context: dict root, faults. */ -}}
{{- define "tkc.validate.modelStore" -}}
{{- $values := .root.tkc.values -}}
{{- $fetched := "" -}}
{{- range .root.tkc.models -}}
{{-   if and (not $fetched) (include "model-endpoint.engine.fetched" .) -}}{{- $fetched = .name -}}{{- end -}}
{{- end -}}
{{- if $fetched -}}
{{-   $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "modelStore.type" "modelStore.size" "modelStore.deadlineSeconds" "modelStore.resources")) -}}
{{-   if $complete -}}{{- include "tkc.validate.modelStoreVolume" (merge (dict "fetched" $fetched) .) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Context: as above and fetched (name of a model). */ -}}
{{- define "tkc.validate.modelStoreVolume" -}}
{{- $store := .root.tkc.values.modelStore -}}
{{- $claim := index $store "claimName" | default "" -}}
{{- $path := index (index $store "hostPath" | default dict) "path" | default "" -}}
{{- $why := printf "modelStore.type is %s, and models.%s is downloaded to it" $store.type .fetched -}}
{{- if eq $store.type "existingClaim" -}}
{{-   if not $claim -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "modelStore.claimName" "value" "" "why" $why "fix" "name a ReadWriteMany claim of the release's namespace, or set modelStore.type: emptyDir") -}}
{{-   end -}}
{{-   include "tkc.validate.claimName" (dict "faults" .faults "key" "modelStore.claimName" "claim" $claim) -}}
{{- else if $claim -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "modelStore.claimName" "value" $claim "why" (printf "modelStore.type is %s, so that the claim would be ignored" $store.type) "fix" "set modelStore.type: existingClaim, or claimName: \"\"") -}}
{{- end -}}
{{- if eq $store.type "hostPath" -}}
{{-   if not $path -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "modelStore.hostPath.path" "value" "" "why" $why "fix" "name a directory that each node has, for example /var/lib/models") -}}
{{-   else if not (include "tkc.validate.cleanPath" $path) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "modelStore.hostPath.path" "value" $path "why" "not an absolute path without ., .. and empty parts" "fix" "write it like /var/lib/models") -}}
{{-   end -}}
{{- else if $path -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "modelStore.hostPath.path" "value" $path "why" (printf "modelStore.type is %s, so that the path would be ignored" $store.type) "fix" "set modelStore.type: hostPath, or hostPath.path: \"\"") -}}
{{- end -}}
{{- if not (include "tkc.quantity.size" $store.size) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "modelStore.size" "value" $store.size "why" "not a whole number of bytes above 0" "fix" "write digits and a unit, for example 100Gi") -}}
{{- end -}}
{{- range $name, $_ := index $store "serviceAccountAnnotations" | default dict -}}
{{-   if not (include "tkc.validate.qualifiedName" $name) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" "modelStore.serviceAccountAnnotations" "value" $name "why" "no legal key: a name of at most 63 characters, and before it, if at all, a DNS name and a slash" "fix" "write it like eks.amazonaws.com/role-arn") -}}
{{-   end -}}
{{- end -}}
{{- include "tkc.validate.resources" (dict "faults" .faults "key" "modelStore.resources" "resources" $store.resources) -}}
{{- end -}}

{{- /* What a cluster that answers must have: the Secrets that models name, with their keys, and the store's claim.
       Context: dict root, faults. */ -}}
{{- define "tkc.validate.sourceLive" -}}
{{- $values := .root.tkc.values -}}
{{- $fetched := false -}}
{{- range .root.tkc.models -}}
{{-   $key := printf "models.%s.source" .name -}}
{{- /* On HyperPod the operator downloads, with the same Secret. */ -}}
{{-   if or (include "model-endpoint.engine.fetched" .) $.root.tkc.hyperpod -}}
{{-     $fetched = not $.root.tkc.hyperpod -}}
{{-     $secret := dig "source" "huggingFace" "tokenSecret" dict .spec -}}
{{-     with index $secret "name" -}}
{{-       include "tkc.validate.secret" (dict "root" $.root "faults" $.faults "key" (printf "%s.huggingFace.tokenSecret" $key) "name" . "keys" (list (index $secret "key" | default "token"))) -}}
{{-     end -}}
{{-     with dig "source" "s3" "credentialsSecret" "name" "" .spec -}}
{{-       include "tkc.validate.secret" (dict "root" $.root "faults" $.faults "key" (printf "%s.s3.credentialsSecret" $key) "name" . "keys" (list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY")) -}}
{{-     end -}}
{{-   else if include "model-endpoint.engine.mountpoint" . -}}
{{-     include "tkc.validate.staticVolume" (dict "root" $.root "faults" $.faults "key" (printf "%s.s3.bucket" $key) "value" .spec.source.s3.bucket "claim" (include "tkc.model.bucketClaim" .)) -}}
{{-     include "tkc.validate.keptVolume" (dict "root" $.root "faults" $.faults "key" (printf "%s.s3.bucket" $key) "size" (printf "%s.s3" $key) "type" (printf "%s.s3.mode" $key) "value" "mountpoint" "claim" (include "tkc.model.bucketClaim" .)
            "bytes" (include "tkc.model.bucketSize" .) "source" (include "tkc.model.bucketSource" . | fromJson)) -}}
{{-   end -}}
{{- end -}}
{{- $type := dig "modelStore" "type" "" $values -}}
{{- if and $fetched (eq $type "existingClaim") -}}
{{-   with dig "modelStore" "claimName" "" $values -}}
{{-     include "tkc.validate.claim" (dict "root" $.root "faults" $.faults "key" "modelStore.claimName" "claim" . "mode" "ReadWriteMany") -}}
{{-   end -}}
{{- else if and $fetched (eq $type "hostPath") -}}
{{-   include "tkc.validate.staticVolume" (dict "root" $.root "faults" $.faults "key" "modelStore.type" "value" $type "claim" (include "tkc.modelStore.claimName" $.root)) -}}
{{-   include "tkc.validate.keptVolume" (dict "root" $.root "faults" $.faults "key" "modelStore.hostPath.path" "size" "modelStore.size" "type" "modelStore.type" "value" $type "claim" (include "tkc.modelStore.claimName" $.root)
          "bytes" $values.modelStore.size "source" (include "tkc.staticVolume.directory" (dig "modelStore" "hostPath" "path" "" $values) | fromJson)) -}}
{{- end -}}
{{- end -}}

{{- /* A Secret and keys that it must have; its content is looked at for names of keys only.
       Context: dict root, faults, key, name, keys. */ -}}
{{- define "tkc.validate.secret" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $found := lookup "v1" "Secret" $namespace .name -}}
{{- if not $found -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.name" .key) "value" .name "why" (printf "namespace %s has no Secret of this name" $namespace)
          "fix" (printf "create it: kubectl create secret generic %s -n %s%s" .name $namespace (include "tkc.validate.fromLiteral" .keys))) -}}
{{- else -}}
{{-   $have := dig "data" dict $found -}}
{{-   range .keys -}}
{{-     if not (hasKey $have .) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" $.key "value" $.name "why" (printf "the Secret has no key %s; it has %s" . (keys $have | sortAlpha | join ", " | default "none"))
              "fix" (printf "add the key, or name another: kubectl create secret generic %s -n %s%s --dry-run=client -o yaml | kubectl apply -f -" $.name $namespace (include "tkc.validate.fromLiteral" $.keys))) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.fromLiteral" -}}
{{- range . }} --from-literal={{ . }}=...{{ end -}}
{{- end -}}
