{{- /* The table of vLLM and LMCache versions that go together (files/pairs.yaml). */ -}}

{{- /* Reads the table once a render, into .tkc.pairs. Context: root. */ -}}
{{- define "tkc.pairs.load" -}}
{{- if not (hasKey .tkc "pairs") -}}
{{-   $_ := set .tkc "pairs" (.Files.Get "files/pairs.yaml" | fromYaml) -}}
{{- end -}}
{{- end -}}

{{- /* "true" if a version is this one or newer; what is no number is taken for a new one. Context: dict have, least. */ -}}
{{- define "tkc.pairs.atLeast" -}}
{{- $version := regexFind "^v?[0-9]+\\.[0-9]+(\\.[0-9]+)?" .have -}}
{{- if not $version }}true{{ else if semverCompare (printf ">=%s-0" .least) $version }}true{{ end -}}
{{- end -}}

{{- /* A repository without the names of Docker's own registry, which may be left out. Context: text. */ -}}
{{- define "tkc.pairs.repository" -}}
{{- regexReplaceAll "^((index|registry-1)\\.)?docker\\.io/" . "" -}}
{{- end -}}

{{- /* Chooses the pair of a model by what its values say, as result.pair; absent if the table has none.
         By versions, if any is given. Else by image: one that the table holds tells its versions, and no image at all
         means the default of the device. Context: dict pairs (list), device, vllm, lmcache, image, result. */ -}}
{{- define "tkc.pairs.find" -}}
{{- $given := .image -}}
{{- range .pairs -}}
{{-   if and (eq .device $.device) (not (hasKey $.result "pair")) -}}
{{-     if or $.vllm $.lmcache -}}
{{-       if and (or (not $.vllm) (eq .vllm $.vllm)) (or (not $.lmcache) (eq .lmcache $.lmcache)) -}}{{- $_ := set $.result "pair" . -}}{{- end -}}
{{-     else if not (or $given.repository $given.tag $given.digest) -}}
{{-       if .default -}}{{- $_ := set $.result "pair" . -}}{{- end -}}
{{-     else if and (or (not $given.repository) (eq (include "tkc.pairs.repository" $given.repository) (include "tkc.pairs.repository" .image.repository)))
              (or .anyTag (eq $given.tag .image.tag) (and $given.digest (eq $given.digest .image.digest))
                  (and .default (not $given.tag) (not $given.digest))) -}}
{{-       $_ := set $.result "pair" . -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* The pairs of a device for people: "0.32.0 with 0.5.6, ...". Context: dict pairs, device. */ -}}
{{- define "tkc.pairs.known" -}}
{{- $texts := list -}}
{{- range .pairs -}}
{{-   if eq .device $.device -}}{{- $texts = append $texts (printf "vLLM %s with LMCache %s (%s:%s)" .vllm .lmcache .image.repository .image.tag) -}}{{- end -}}
{{- end -}}
{{- join ", " $texts -}}
{{- end -}}
