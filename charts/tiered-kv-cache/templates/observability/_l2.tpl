{{- /* What engines get from the shared tier. Context: root. */ -}}
{{- define "tkc.rules.l2" -}}
{{- $job := include "tkc.observability.job" (dict "root" . "component" "engine") -}}
{{- $thresholds := .tkc.values.observability.alerts.thresholds -}}
{{- $by := "pod, tiered_kv_cache_io_model" -}}
{{- $where := "Pod {{ $labels.pod }} of model {{ $labels.tiered_kv_cache_io_model }}" -}}
{{- $guarded := false -}}
{{- $served := false -}}
{{- $loads := false -}}
{{- range .tkc.deployed -}}
{{-   $guarded = or $guarded .guarded -}}
{{-   $served = or $served (and .l2 (eq .mode "multiProcess")) -}}
{{-   $loads = or $loads .lmcache -}}
{{- end -}}
{{- if $guarded }}
{{- $claim := include "tkc.l2.claimName" . -}}
{{- $drops := include "tkc.rules.rate" (dict "by" $by "metric" "tkc_l2_store_drops_total" "matchers" $job "window" "10m") -}}
{{- $stores := include "tkc.rules.rate" (dict "by" $by "metric" "tkc_l2_stores_total" "matchers" $job "window" "10m") }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheL2BreakerOpen" "for" "5m" "severity" "warning"
      "expr" (printf "max by (%s, breaker) (tkc_l2_breaker_open{%s}) > 0" $by $job)
      "summary" "An engine does without the L2 volume"
      "description" (printf "%s: the {{ $labels.breaker }} breaker has been open for 5 minutes, since claim %s fails or hangs there." $where $claim)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheL2StoresDropped" "for" "10m" "severity" "warning"
      "expr" (printf "%s\n> %s" (include "tkc.rules.fraction" (dict "bad" $drops "good" $stores)) (include "tkc.scalar" $thresholds.storesDropped))
      "summary" "An engine stores less in L2 than it computes"
      "description" (printf "%s drops {{ $value | humanizePercentage }} of its stores to claim %s." $where $claim)) }}
{{- end }}
{{- if $served }}
{{- $failed := include "tkc.rules.rate" (dict "by" $by "metric" "lmcache_mp_l2_prefetch_failure_chunks_total" "matchers" (printf "%s, reason!=\"l1_contended\"" $job) "window" "10m") -}}
{{- $loaded := include "tkc.rules.rate" (dict "by" $by "metric" "lmcache_mp_l2_prefetch_load_completed_chunks_total" "matchers" $job "window" "10m") }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheL2FoundNotServed" "for" "10m" "severity" "warning"
      "expr" (printf "%s\n> %s" (include "tkc.rules.fraction" (dict "bad" $failed "good" $loaded)) (include "tkc.scalar" $thresholds.notServed))
      "summary" "Blocks that lie in L2 are computed again"
      "description" (printf "%s could not load {{ $value | humanizePercentage }} of the chunks that it found in L2 (claim %s)." $where (include "tkc.l2.claimName" .))) }}
{{- end }}
{{- if $loads }}
{{- $found := include "tkc.rules.rate" (dict "by" $by "metric" "vllm:external_prefix_cache_hits_total" "matchers" $job "window" "10m") -}}
{{- $taken := include "tkc.rules.rate" (dict "by" $by "metric" "vllm:prompt_tokens_by_source_total" "matchers" (printf "%s, source=\"external_kv_transfer\"" $job) "window" "10m") -}}
{{- $gone := include "tkc.rules.rate" (dict "by" $by "metric" "lmcache_mp_l1_read_failure_chunks_total" "matchers" (printf "%s, during=\"l1_retrieve\"" $job) "window" "10m") }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheFoundNotLoaded" "for" "15m" "severity" "warning"
      "expr" (printf "(%s\n - %s)\n/ %s\n> %s\nor %s\n> 0" $found $taken $found (include "tkc.scalar" $thresholds.notServed) $gone)
      "summary" "vLLM computes tokens again that LMCache had promised"
      "description" (printf "%s was told of blocks that were gone when it fetched them, for 15 minutes. Each such request waits for the fetch, and then for its prefill." $where)) }}
{{- end }}
{{- end -}}
