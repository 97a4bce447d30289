{{- /* Hit ratios that count what was served, of what could have been. vLLM's own takes requests that never look up for misses;
       LMCache's takes what was found for served. See docs/observability.md. Context: root. */ -}}

{{- /* Context: dict root, metric, extra (further matchers, optional). */ -}}
{{- define "tkc.rules.perModel" -}}
{{- $matchers := include "tkc.observability.job" (dict "root" .root "component" "engine") -}}
{{- with .extra -}}{{- $matchers = printf "%s, %s" $matchers . -}}{{- end -}}
{{- include "tkc.rules.rate" (dict "by" "namespace, tiered_kv_cache_io_model" "metric" .metric "matchers" $matchers "window" "5m") -}}
{{- end -}}

{{- define "tkc.rules.hits" -}}
{{- if include "tkc.observability.lmcacheServer" . }}
{{- $job := include "tkc.observability.job" (dict "root" . "component" "engine") -}}
{{- $l0Asked := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:prefix_cache_queries_total") -}}
{{- $l0Hits := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:prefix_cache_hits_total") -}}
{{- $asked := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:external_prefix_cache_queries_total") -}}
{{- $found := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:external_prefix_cache_hits_total") -}}
{{- $taken := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:prompt_tokens_by_source_total" "extra" "source=\"external_kv_transfer\"") -}}
{{- $prompt := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:prompt_tokens_total") -}}
{{- $ended := include "tkc.rules.perModel" (dict "root" . "metric" "vllm:request_success_total") -}}
{{- $lookups := include "tkc.rules.perModel" (dict "root" . "metric" "lmcache_mp_lookups_requests_total") }}
{{ include "tkc.record" (dict "root" . "record" "looked_up_tokens:rate5m"
      "expr" (include "tkc.rules.perModel" (dict "root" . "metric" "lmcache_mp_lookup_requested_tokens_total"))) }}
# vLLM leaves requests that may not read a cache out of its own queries (L0), and asks LMCache for them all the same. Without L0
# there is nothing to compare with.
{{ include "tkc.record" (dict "root" . "record" "bypassed_tokens:rate5m"
      "expr" (printf "clamp_min(%s\n  - (%s\n     - %s), 0)\nand sum by (namespace, tiered_kv_cache_io_model) (vllm:prefix_cache_queries_total{%s}) > 0" $asked $l0Asked $l0Hits $job)) }}
{{ include "tkc.record" (dict "root" . "record" "short_requests:rate5m"
      "expr" (include "tkc.rules.perModel" (dict "root" . "metric" "lmcache_mp_lookup_early_exit_requests_total" "extra" "reason=\"empty_chunk_hashes\""))) }}
{{ include "tkc.record" (dict "root" . "record" "l2_load_failed_chunks:rate5m"
      "expr" (include "tkc.rules.perModel" (dict "root" . "metric" "lmcache_mp_l2_prefetch_failure_chunks_total" "extra" "reason!=\"l1_contended\""))) }}
{{ include "tkc.record" (dict "root" . "record" "load_failed_tokens:rate5m"
      "expr" (printf "clamp_min(%s\n  - %s, 0)" $found $taken)) }}
{{ include "tkc.record" (dict "root" . "record" "served_tokens:rate5m"
      "expr" (include "tkc.rules.perModel" (dict "root" . "metric" "vllm:prompt_tokens_by_source_total" "extra" "source!=\"local_compute\""))) }}
{{- $own := printf "namespace=%q, tiered_kv_cache_release=%q" .Release.Namespace .tkc.instance }}
{{- $mine := dict -}}
{{- range $name := list "looked_up_tokens" "bypassed_tokens" "uncounted_requests" "served_tokens" "lookable_tokens" -}}
{{-   $_ := set $mine $name (printf "sum without (tiered_kv_cache_release) (tiered_kv_cache:%s:rate5m{%s})" $name $own) -}}
{{- end }}
# What stands below reads what stands above: a group's rules run one after the other.
# LMCache counts a lookup when vLLM takes its result. For a request that may not read a cache vLLM takes it only if it is there at once.
{{ include "tkc.record" (dict "root" . "record" "uncounted_requests:rate5m"
      "expr" (printf "clamp_min(%s\n  - (%s\n     or 0 * %s), 0)" $ended $lookups $ended)) }}
# Bypassed requests, by the tokens of a usual one, as often as they are among the uncounted.
{{- $bypassed := printf "(%s\n     / (%s\n        / %s)\n     or 0 * %s)" $mine.bypassed_tokens $prompt $ended $mine.uncounted_requests }}
{{ include "tkc.record" (dict "root" . "record" "never_looked_up_requests:rate5m"
      "expr" (printf "clamp_min(%s\n  - %s, 0)" $mine.uncounted_requests $bypassed)) }}
# Tokens that a lookup could have found. Where LMCache has counted bypassed requests (a few uncounted at most), what it was asked for less
# theirs. Where it has not, what it was asked for; of a mixture no more than L0 was asked for, which has no bypassed ones.
{{ include "tkc.record" (dict "root" . "record" "lookable_tokens:rate5m"
      "expr" (printf "(%[1]s\n  - (%[2]s or 0 * %[1]s)\n  and %[3]s <= 0.5 * %[4]s)\nor (%[1]s < (%[5]s > 0))\nor 0 * %[1]s + (%[5]s > 0)\nor %[1]s"
        $mine.looked_up_tokens $mine.bypassed_tokens $mine.uncounted_requests $bypassed $l0Asked)) }}
{{ include "tkc.record" (dict "root" . "record" "served:ratio_rate5m"
      "expr" (printf "clamp_max(%s\n  / (%s > 0), 1)" $mine.served_tokens $mine.lookable_tokens)) }}
{{- end }}
{{- end -}}
