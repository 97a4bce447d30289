{{- /* The one place that refuses values. Every rule adds its fault to a list; all are reported together, each with the
       key, its value, the reason and the fix. Types, unknown keys and bounds are the schema's work. Context: root. */ -}}
{{- define "tkc.validate" -}}
{{- $faults := dict "list" list "seen" dict -}}
{{- $release := dict "root" . "faults" $faults -}}
{{- include "tkc.validate.changes" $release -}}
{{- include "tkc.validate.release" $release -}}
{{- include "tkc.validate.operator" $release -}}
{{- include "tkc.validate.l2" $release -}}
{{- include "tkc.validate.owner" $release -}}
{{- include "tkc.validate.curvine" $release -}}
{{- include "tkc.validate.keeper" $release -}}
{{- include "tkc.validate.network" $release -}}
{{- include "tkc.validate.observability" $release -}}
{{- include "tkc.validate.hooks" $release -}}
{{- include "tkc.validate.l2patch" $release -}}
{{- include "tkc.validate.aws" $release -}}
{{- range .tkc.models -}}
{{-   include "tkc.validate.model" (dict "root" $ "faults" $faults "model" .) -}}
{{- end -}}
{{- include "tkc.validate.nodePorts" $release -}}
{{- include "tkc.validate.modelStore" $release -}}
{{- include "tkc.validate.live" $release -}}
{{- include "tkc.validate.report" (dict "root" . "faults" $faults) -}}
{{- end -}}

{{- /* Fails with all faults, if there are any. Context: dict root, faults. */ -}}
{{- define "tkc.validate.report" -}}
{{- with .faults.list -}}
{{-   $text := printf "\n\n%d %s in the values of release %s; nothing was changed:\n" (len .) (ternary "fault" "faults" (len . | eq 1)) $.root.Release.Name -}}
{{-   range $index, $fault := . -}}
{{-     $text = printf "%s\n%d. %s\n" $text (add1 $index) $fault -}}
{{-   end -}}
{{-   fail $text -}}
{{- /* helm lint goes on after a fail, and finds nothing wrong; a template that is not there is an error to it as well. */ -}}
{{-   include (printf "%d %s in the values, see above" (len .) (ternary "fault" "faults" (len . | eq 1))) $ -}}
{{- end -}}
{{- end -}}

{{- /* Adds a fault. An inherited value that several models share is reported once.
       Context: dict faults, key, value (absent if not given), why, fix. */ -}}
{{- define "tkc.fault" -}}
{{- $value := "not given" -}}
{{- if hasKey . "value" -}}{{- $value = toRawJson .value -}}{{- end -}}
{{- $text := printf "%s: %s\n   why: %s\n   fix: %s" .key $value .why .fix -}}
{{- if not (has $text .faults.list) -}}
{{-   $_ := set .faults "list" (append .faults.list $text) -}}
{{- end -}}
{{- end -}}

{{- /* Faults for the keys of a model that were deleted with null although they need a value. What models inherit is looked
       at once: most delete nothing of their own. Context: dict root, faults, model, paths. Result: "complete" if all are there. */ -}}
{{- define "tkc.validate.modelRequired" -}}
{{- $seen := printf "required %s" (join " " .paths) -}}
{{- if not (hasKey .faults.seen $seen) -}}
{{-   $_ := set .faults.seen $seen (include "tkc.validate.required" (dict "faults" (dict "list" list) "from" (index .root.tkc.values "defaults" | default dict) "prefix" "" "paths" .paths)) -}}
{{- end -}}
{{- if and (index .faults.seen $seen) (not .model.nulls) -}}
complete
{{- else -}}
{{- include "tkc.validate.required" (dict "faults" .faults "from" .model.spec "prefix" (printf "models.%s." .model.name) "paths" .paths) -}}
{{- end -}}
{{- end -}}

{{- /* Faults for keys that were deleted with null although they need a value.
       Context: dict faults, from, prefix, paths. Result: "complete" if all are there. */ -}}
{{- define "tkc.validate.required" -}}
{{- $complete := true -}}
{{- range .paths -}}
{{-   $result := dict -}}
{{-   include "tkc.at" (dict "from" $.from "path" . "result" $result) -}}
{{-   if not (hasKey $result "value") -}}
{{-     $complete = false -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "%s%s" $.prefix .) "why" "null deletes the default, and this key needs a value"
            "fix" "give it a value, or leave the key out to keep the chart's default (helm upgrade --reuse-values takes no defaults of a new chart: --reset-then-reuse-values does)") -}}
{{-   end -}}
{{- end -}}
{{- if $complete }}complete{{ end -}}
{{- end -}}

{{- /* Faults of an image. Context: dict faults, key (of the image), image. */ -}}
{{- define "tkc.validate.image" -}}
{{- $tag := index .image "tag" -}}
{{- $repository := index .image "repository" | default "" -}}
{{- $part := "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*" -}}
{{- if and $repository (or (gt (len $repository) 255) (not (regexMatch (printf "^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[0-9]{1,5})?/)?%s(/%s)*$" $part $part) $repository))) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.repository" .key) "value" $repository "why" "not a registry and a name: small letters and digits, with /, ., _ and - between, without https:// and without a tag"
          "fix" "write it like registry.example.com/team/engine; a tag goes into tag, a digest into digest") -}}
{{- end -}}
{{- if not (or (kindIs "string" $tag) (kindIs "invalid" $tag)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.tag" .key) "value" $tag "why" (printf "YAML read the tag as a %s, so that digits may be lost" (kindOf $tag | replace "float64" "number" | replace "int64" "number" | replace "bool" "boolean"))
          "fix" "quote it: tag: \"...\" (with --set use --set-string)") -}}
{{- else if not (or $tag (index .image "digest")) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.tag" .key) "value" ($tag | default "") "why" "the image has neither a tag nor a digest" "fix" "set tag or digest") -}}
{{- else if and $tag (not (regexMatch "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" $tag)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.tag" .key) "value" $tag "why" "not a tag: at most 128 letters, digits, _, . and -, beginning with a letter, digit or _" "fix" "write the tag alone, for example v1") -}}
{{- end -}}
{{- $digest := index .image "digest" | default "" -}}
{{- if and $digest (not (regexMatch "^sha256:[0-9a-f]{64}$" $digest)) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" (printf "%s.digest" .key) "value" $digest "why" "not a digest: sha256: and 64 hexadecimal digits (small letters)" "fix" "copy it from the registry, or leave it empty and set tag") -}}
{{- end -}}
{{- end -}}

{{- /* Faults of a container's resources; what was found right once is not looked at again: many models ask for the same.
       Context: dict faults, key, resources. */ -}}
{{- define "tkc.validate.resources" -}}
{{- if not (hasSuffix "resources.engine" .key) -}}
{{-   range $side := list "requests" "limits" -}}
{{-     range $resource, $amount := (index $.resources $side) | default dict -}}
{{-       if include "tkc.accelerator" $resource -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "only the engine computes on a GPU: this container would hold it idle" "fix" "take it out; the chart gives the engine its GPUs") -}}
{{-       end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- $seen := printf "resources %s" (toJson .resources) -}}
{{- if not (hasKey .faults.seen $seen) -}}
{{-   $before := len .faults.list -}}
{{-   include "tkc.validate.amounts" . -}}
{{-   if eq $before (len .faults.list) -}}{{- $_ := set .faults.seen $seen true -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* "true" for the name of a resource that counts GPUs or the like, whoever made them, and however it is misspelt in the usual
       ways. Context: text. */ -}}
{{- define "tkc.accelerator" -}}
{{- if contains "/" . -}}
{{-   if regexMatch "(?i)((^|[./])gpus?([./_-]|$)|^nvidia[.]com/mig-|/gaudi|/neuron|/tpu)" . }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- define "tkc.validate.amounts" -}}
{{- range $side := list "requests" "limits" -}}
{{-   range $resource, $amount := (index $.resources $side) | default dict -}}
{{-     if not (include "tkc.quantity.valid" $amount) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "not a Kubernetes quantity"
              "fix" "write digits and a unit, for example 500m (cores) or 2Gi (bytes)") -}}
{{-     else if ge (include "tkc.quantity.milli" $amount | int64) 9000000000000000000 -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "more than any machine has" "fix" "check the unit") -}}
{{-     else if and (contains "/" $resource) (not (regexMatch "^[0-9]+$" (include "tkc.scalar" $amount))) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "devices are counted" "fix" "write a whole number without a unit") -}}
{{-     else if and (hasSuffix "m" (include "tkc.scalar" $amount)) (regexMatch "^(memory|ephemeral-storage|hugepages-.*)$" $resource) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "m means thousandths of a byte"
              "fix" "write Mi for 2^20 bytes, M for 10^6 bytes") -}}
{{-     else if and (mod (include "tkc.quantity.milli" $amount | int64) 1000) (regexMatch "^(memory|ephemeral-storage|hugepages-.*)$" $resource) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s.%s" $.key $side $resource) "value" $amount "why" "not a whole number of bytes, which the API server refuses"
              "fix" (printf "write it in a smaller unit, for example %dMi" (add1 (div (include "tkc.quantity.bytes" $amount | int64) 1048576)))) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- $limits := (index .resources "limits") | default dict -}}
{{- range $resource, $amount := (index .resources "requests") | default dict -}}
{{-   $limit := index $limits $resource -}}
{{-   $both := and (not (kindIs "invalid" $limit)) (include "tkc.quantity.valid" $amount) (include "tkc.quantity.valid" $limit) -}}
{{-   if not (regexMatch "^(cpu|memory|ephemeral-storage)$" $resource) -}}
{{-     if ne (kindIs "invalid" $limit | ternary "" (toJson $limit)) (toJson $amount) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.requests.%s" $.key $resource) "value" $amount "why" (printf "Kubernetes lends it whole: the limit must be the same, and %s.limits.%s is %s" $.key $resource (kindIs "invalid" $limit | ternary "not given" (toJson $limit)))
              "fix" "set the limit, and leave the request out") -}}
{{-     end -}}
{{-   else if $both -}}
{{-     if gt (include "tkc.quantity.milli" $amount | int64) (include "tkc.quantity.milli" $limit | int64) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.requests.%s" $.key $resource) "value" $amount "why" (printf "more than %s.limits.%s: %s" $.key $resource (include "tkc.scalar" $limit))
              "fix" "raise the limit or lower the request") -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
