{{- /* Rules for what NetworkPolicies and pull secrets take from the values as given. Context everywhere: dict root, faults. */ -}}
{{- define "tkc.validate.network" -}}
{{- range $index, $peer := index (index .root.tkc.values "networkPolicy" | default dict) "metricsFrom" | default list -}}
{{-   include "tkc.validate.peer" (dict "faults" $.faults "key" (printf "networkPolicy.metricsFrom[%d]" $index) "peer" $peer) -}}
{{- end -}}
{{- $names := list -}}
{{- range $index, $secret := .root.tkc.values.imagePullSecrets -}}
{{-   $key := printf "imagePullSecrets[%d].name" $index -}}
{{- /* Inside lists null deletes nothing; it is as good as empty. */ -}}
{{-   $name := index $secret "name" | default "" -}}
{{-   if not (include "tkc.validate.subdomain" $name) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $key "value" $name "why" "no Secret can have this name" "fix" "choose one of: kubectl get secret --field-selector type=kubernetes.io/dockerconfigjson") -}}
{{-   else if has $name $names -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $key "value" $name "why" "the same Secret stands there twice" "fix" "take one out") -}}
{{-   end -}}
{{-   $names = append $names $name -}}
{{- end -}}
{{- end -}}

{{- /* One peer. Context: dict faults, key, peer. */ -}}
{{- define "tkc.validate.peer" -}}
{{- $block := index .peer "ipBlock" -}}
{{- $selectors := list -}}
{{- range $kind := list "podSelector" "namespaceSelector" -}}
{{-   $selector := index $.peer $kind -}}
{{-   if not (kindIs "invalid" $selector) -}}
{{-     $selectors = append $selectors $kind -}}
{{-     include "tkc.validate.selector" (dict "faults" $.faults "key" (printf "%s.%s" $.key $kind) "selector" $selector) -}}
{{-   end -}}
{{- end -}}
{{- if and $selectors $block -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .peer "why" "a peer is a range of addresses or Pods, not both" "fix" "write two entries, one with ipBlock and one with the selectors") -}}
{{- else if not (or $selectors $block) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .peer "why" "the peer is empty, so that it names nobody" "fix" "give it podSelector, namespaceSelector or ipBlock; namespaceSelector: {} is all namespaces") -}}
{{- end -}}
{{- with $block -}}
{{-   $cidr := index . "cidr" | default "" -}}
{{-   if not (include "tkc.validate.cidr" $cidr) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.ipBlock.cidr" $.key) "value" $cidr "why" "not a range of addresses whose bits behind the prefix are zero" "fix" "write it like 10.0.0.0/8 or fd00::/8") -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* "true" for a range of addresses. Context: text. */ -}}
{{- define "tkc.validate.cidr" -}}
{{- if regexMatch "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.|/)){4}(3[0-2]|[12]?[0-9])$" . -}}
{{-   $parts := regexSplit "[./]" . -1 -}}
{{-   $address := 0 -}}
{{-   range slice $parts 0 4 -}}{{- $address = add (mul $address 256) (int .) -}}{{- end -}}
{{-   $size := 1 -}}
{{-   range until (sub 32 (index $parts 4 | int) | int) -}}{{- $size = mul $size 2 -}}{{- end -}}
{{-   if eq (mod $address $size) 0 }}true{{ end -}}
{{- else if regexMatch "^(::|[0-9a-f]{1,4}(::?[0-9a-f]{1,4})*(::)?|::[0-9a-f]{1,4}(:[0-9a-f]{1,4})*)/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" . -}}
{{-   $groups := regexFindAll "[0-9a-f]+" (splitList "/" . | first) -1 | len -}}
{{-   $gaps := regexFindAll "::" . -1 | len -}}
{{-   if or (and (eq $gaps 1) (lt $groups 8)) (and (eq $gaps 0) (eq $groups 8)) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A label selector as given. Context: dict faults, key, selector. */ -}}
{{- define "tkc.validate.selector" -}}
{{- range $name, $text := index .selector "matchLabels" | default dict -}}
{{-   include "tkc.validate.label" (dict "faults" $.faults "key" (printf "%s.matchLabels" $.key) "name" $name "texts" (list $text)) -}}
{{- end -}}
{{- range $index, $condition := index .selector "matchExpressions" | default list -}}
{{-   $key := printf "%s.matchExpressions[%d]" $.key $index -}}
{{-   $texts := index $condition "values" | default list -}}
{{-   include "tkc.validate.label" (dict "faults" $.faults "key" $key "name" (index $condition "key" | default "") "texts" $texts) -}}
{{-   $operator := index $condition "operator" | default "" -}}
{{-   $compares := hasSuffix "In" $operator -}}
{{-   if not $operator -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.operator" $key) "value" "" "why" "a condition needs one" "fix" "use In, NotIn, Exists or DoesNotExist") -}}
{{-   else if ne $compares (not (empty $texts)) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.values" $key) "value" $texts "why" (printf "operator %s %s" $operator (ternary "compares with values, and there are none" "takes no values" $compares))
            "fix" (ternary "give values, or use Exists or DoesNotExist" "take them out, or use In or NotIn" $compares)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* Name and values of a label. Context: dict faults, key, name, texts. */ -}}
{{- define "tkc.validate.label" -}}
{{- if not (regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$" .name) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" .key "value" .name "why" "not the name of a label" "fix" "write it like team or example.com/team") -}}
{{- end -}}
{{- range .texts -}}
{{-   if kindIs "invalid" . -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $.key "value" . "why" (printf "label %s has no value; inside a list null deletes nothing" $.name) "fix" "take the label out, or write \"\"") -}}
{{-   else if not (regexMatch "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$" .) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $.key "value" . "why" (printf "no label %s can have this value: at most 63 of A-Z, a-z, 0-9, ., _ and -, beginning and ending with a letter or digit" $.name) "fix" "write the value as kubectl get --show-labels prints it") -}}
{{-   end -}}
{{- end -}}
{{- end -}}
