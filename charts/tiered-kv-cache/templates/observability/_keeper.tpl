{{- /* The keeper of the L2 volume. Context: root. */ -}}
{{- define "tkc.rules.keeper" -}}
{{- $job := include "tkc.observability.job" (dict "root" . "component" "keeper") -}}
{{- $lag := include "tkc.scalar" .tkc.values.observability.alerts.thresholds.keeperLagSeconds -}}
{{- $claim := include "tkc.l2.claimName" . -}}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheKeeperNotRunning" "for" "10m" "severity" "warning"
      "expr" (printf "(sum(tiered_kv_cache_keeper_leading{%s}) or vector(0)) < 1" $job)
      "summary" "No keeper works on the L2 volume"
      "description" (printf "No Pod of %s holds claim %s: nothing is evicted, and the volume fills." (include "tkc.keeper.name" .) $claim)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheKeeperOverQuota" "for" "15m" "severity" "warning"
      "expr" (printf "max by (scope) (tiered_kv_cache_keeper_scope_used_bytes{%s})\n  > (max by (scope) (tiered_kv_cache_keeper_scope_quota_bytes{%s}) > 0)" $job $job)
      "summary" "The L2 volume holds more than a quota allows"
      "description" (printf "Claim %s: {{ $labels.scope }} uses {{ $value | humanize1024 }}B, above its quota, for 15 minutes: the keeper does not get it down." $claim)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheKeeperUnreadableFiles" "for" "30m" "severity" "warning"
      "expr" (printf "max(tiered_kv_cache_keeper_ghosts_kept{%s}) > 0" $job)
      "summary" "Files on the L2 volume cannot be read, and stay"
      "description" (printf "Claim %s: {{ $value }} files cannot be read for 30 minutes; the keeper leaves them, since it cannot tell whether the pool is whole." $claim)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheKeeperStuck" "for" "1m" "severity" "warning"
      "expr" (printf "tiered_kv_cache_keeper_stuck_seconds{%s} > 0" $job)
      "summary" "The L2 volume does not answer the keeper"
      "description" (printf "Pod {{ $labels.pod }} waits for {{ $value | humanizeDuration }} for one operation on claim %s." $claim)) }}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheKeeperLag" "for" "5m" "severity" "warning"
      "expr" (printf "tiered_kv_cache_keeper_snapshot_age_seconds{%s} > %s\n  and on (pod) tiered_kv_cache_keeper_leading{%s} == 1" $job $lag $job)
      "summary" "The keeper is behind"
      "description" (printf "Pod {{ $labels.pod }} last knew {{ $value | humanizeDuration }} ago what claim %s holds; what it shows and decides is that old." $claim)) }}
{{- end -}}
