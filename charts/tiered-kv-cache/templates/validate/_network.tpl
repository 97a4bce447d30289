{{- /* Rules for what NetworkPolicies and pull secrets take from the values as given. Context everywhere: dict root, faults. */ -}}
{{- define "tkc.validate.network" -}}
{{- $policy := index .root.tkc.values "networkPolicy" | default dict -}}
{{- range $list := list "metricsFrom" "clientsFrom" -}}
{{-   range $index, $peer := index $policy $list | default list -}}
{{-     include "tkc.validate.peer" (dict "faults" $.faults "key" (printf "networkPolicy.%s[%d]" $list $index) "peer" $peer) -}}
{{-   end -}}
{{- end -}}
{{- if and (index $policy "clientsFrom") (not (index $policy "enabled")) -}}
{{-   include "tkc.fault" (dict "faults" .faults "key" "networkPolicy.clientsFrom" "value" $policy.clientsFrom "why" "it is a rule of the NetworkPolicies, and networkPolicy.enabled is false" "fix" "set networkPolicy.enabled: true, or take it out") -}}
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
{{-   else -}}
{{-     range $index, $part := index . "except" -}}
{{-       if not (include "tkc.validate.cidrWithin" (dict "cidr" $cidr "part" ($part | default ""))) -}}
{{-         include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.ipBlock.except[%d]" $.key $index) "value" $part "why" (printf "not a smaller range inside ipBlock.cidr: %s" $cidr) "fix" "write a range of which all addresses lie in it, with zeros behind the prefix") -}}
{{-       end -}}
{{-     end -}}
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

{{- /* "true" for a range that is a real part of another: compared is the beginning of its address, bit by bit.
       Context: dict cidr (a legal one), part. */ -}}
{{- define "tkc.validate.cidrWithin" -}}
{{- if include "tkc.validate.cidr" .part -}}
{{-   $prefix := splitList "/" .cidr | last | int -}}
{{-   if and (gt (splitList "/" .part | last | int) $prefix) (eq (contains ":" .cidr) (contains ":" .part)) -}}
{{-     if eq (include "tkc.validate.bits" .cidr | trunc $prefix) (include "tkc.validate.bits" .part | trunc $prefix) }}true{{ end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The address of a legal range as text of zeros and ones: 32 or 128. */ -}}
{{- define "tkc.validate.bits" -}}
{{- $address := splitList "/" . | first -}}
{{- $words := list -}}
{{- $width := 8 -}}
{{- if contains ":" $address -}}
{{-   $width = 16 -}}
{{-   $sides := splitList "::" $address -}}
{{-   $left := regexFindAll "[0-9a-f]+" (first $sides) -1 -}}
{{-   $right := list -}}
{{-   if gt (len $sides) 1 -}}{{- $right = regexFindAll "[0-9a-f]+" (last $sides) -1 -}}{{- end -}}
{{-   range $left -}}{{- $words = append $words . -}}{{- end -}}
{{-   range until (sub 8 (add (len $left) (len $right)) | int) -}}{{- $words = append $words "0" -}}{{- end -}}
{{-   range $right -}}{{- $words = append $words . -}}{{- end -}}
{{- else -}}
{{-   range splitList "." $address -}}{{- $words = append $words (printf "%x" (int .)) -}}{{- end -}}
{{- end -}}
{{- $nibbles := dict "0" "0000" "1" "0001" "2" "0010" "3" "0011" "4" "0100" "5" "0101" "6" "0110" "7" "0111"
      "8" "1000" "9" "1001" "a" "1010" "b" "1011" "c" "1100" "d" "1101" "e" "1110" "f" "1111" -}}
{{- range $words -}}
{{-   $hex := printf "%s%s" (repeat (sub (div $width 4) (len .) | int) "0") . -}}
{{-   range splitList "" $hex -}}{{- get $nibbles . -}}{{- end -}}
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
