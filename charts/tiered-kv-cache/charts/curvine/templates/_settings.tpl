{{- /* Names of Curvine's settings (v0.4.1), by table: "known" can be set; "elsewhere" follows from another key of the values, which the
       text names; "harmful" (of one value, or of any where value is "*") would break the tier. JSON object. */ -}}
{{- define "curvine.config.names" -}}
{{- $chart := "take it out" -}}
{{- $any := "*" -}}
{{- $ttl := dict "value" $any "why" "a directory made under it is deleted with all younger files in it, and reads do not count as use" "fix" "take it out; l2.keeper.ttl does what is meant" -}}
{{- $replicas := "set curvine.masters.replicas" -}}
{{- $common := list "io_threads" "worker_threads" -}}
{{- $master := dict
      "known" (concat $common (list "actor_threads" "io_timeout" "io_close_idle" "meta_request_concurrent" "min_block_size" "max_block_size"
        "min_replication" "max_replication" "max_path_len" "max_path_depth" "retry_cache_enable" "retry_cache_size" "retry_cache_ttl" "block_report_limit"
        "worker_policy" "executor_threads" "executor_channel_size" "heartbeat_interval" "worker_check_interval" "worker_blacklist_interval"
        "worker_lost_interval" "audit_logging_enabled" "block_replication_enabled" "block_replication_concurrency_limit"
        "block_replication_retry_interval" "ttl_checker_retry_attempts" "ttl_checker_interval" "ttl_bucket_interval" "ttl_max_retry_duration"
        "ttl_retry_interval" "lock_expire_time" "buffer_size" "conn_limit" "global_limit"))
      "elsewhere" (dict "hostname" $chart "rpc_port" $chart "web_port" $chart "meta_dir" $chart "log" "set curvine.logLevel" "audit_log" "set curvine.logLevel")
      "harmful" dict -}}
{{- $evict := dict "value" $any "why" "its eviction counts files as removed and removes none" "fix" "take it out; the keeper evicts: l2.keeper" -}}
{{- range list "enable_quota_eviction" "quota_eviction_mode" "quota_eviction_policy" "quota_eviction_high_rate" "quota_eviction_low_rate" "quota_eviction_scan_page" "quota_eviction_dry_run" "quota_eviction_capacity" -}}
{{-   $_ := set $master.harmful . $evict -}}
{{- end -}}
{{- $journal := dict
      "known" (concat $common (list "group_name" "message_size" "writer_channel_size" "writer_flush_batch_size" "writer_flush_batch_ms" "snapshot_interval"
        "snapshot_entries" "metadata_delta_log_capacity" "snapshot_read_chunk_size" "conn_retry_max_duration_ms" "conn_retry_min_sleep_ms"
        "conn_retry_max_sleep_ms" "rpc_close_idle" "rpc_retry_max_duration_ms" "rpc_retry_min_sleep_ms" "rpc_retry_max_sleep_ms" "conn_timeout_ms"
        "io_timeout_ms" "conn_size" "raft_tick_interval_ms" "raft_election_tick" "raft_heartbeat_tick" "raft_min_election_ticks" "raft_max_election_ticks"
        "raft_check_quorum" "raft_max_size_per_msg" "raft_max_inflight_msgs" "raft_max_committed_size_per_ready" "raft_batch_size" "raft_retry_cache_size"
        "raft_retry_cache_ttl" "retain_checkpoint_num" "max_retry_num" "scan_batch_size" "retry_interval_secs"))
      "elsewhere" (dict "hostname" $chart "rpc_port" $chart "journal_addrs" $replicas "journal_dir" $chart)
      "harmful" (dict
        "enable" (dict "value" "false" "why" "without a journal nothing survives a master's restart" "fix" "take it out")
        "ignore_reply_error" (dict "value" "true" "why" "a follower would go on with a part of the changes" "fix" "take it out")) -}}
{{- $worker := dict
      "known" (concat $common (list "weight" "io_slow_threshold" "io_timeout" "io_close_idle" "scheduler_threads" "executor_threads" "executor_channel_size"
        "enable_splice" "enable_send_file" "pipe_buf_size" "pipe_pool_init_cap" "pipe_pool_max_cap" "pipe_pool_idle_time"
        "block_replication_concurrency_limit" "block_replication_chunk_size"))
      "elsewhere" (dict "hostname" $chart "rpc_port" $chart "web_port" $chart "log" "set curvine.logLevel" "data_dir" "set curvine.workers.disk" "dir_reserved" "set curvine.workers.disk.size")
      "harmful" dict -}}
{{- $client := dict
      "known" (concat $common (list "replicas" "write_chunk_size" "write_chunk_num" "read_chunk_size" "read_chunk_num" "read_parallel" "read_slice_size"
        "max_cache_block_handles" "storage_type" "conn_retry_max_duration_ms" "conn_retry_min_sleep_ms" "conn_retry_max_sleep_ms"
        "rpc_retry_max_duration_ms" "rpc_retry_min_sleep_ms" "rpc_retry_max_sleep_ms" "rpc_close_idle" "conn_timeout_ms" "rpc_timeout_ms" "data_timeout_ms"
        "pipeline_timeout_ms" "master_conn_pool_size" "enable_read_ahead" "read_ahead_len" "drop_cache_len" "failed_worker_ttl" "audit_logging_enabled"
        "metric_report_enable" "clean_task_interval" "close_timeout_secs" "enable_block_conn_pool" "block_conn_idle_size" "block_conn_idle_time"
        "small_file_size" "enable_smart_prefetch" "large_file_size" "max_read_parallel" "sequential_read_threshold"))
      "elsewhere" (dict "master_addrs" $replicas "hostname" "set curvine.workers.hostNetwork" "block_size" "set curvine.blockSize")
      "harmful" (dict
        "ttl_ms" $ttl "ttl_action" $ttl "auto_cache_ttl" $ttl
        "short_circuit" (dict "value" "true" "why" "the mount does not see the workers' disks, and a writer that finds its worker on the node does not fall back: its writes fail" "fix" "write false")
        "umask" (dict "value" $any "why" "the mount hands on modes as the Pods set them" "fix" "take it out")) -}}
{{- $fuse := dict
      "known" (concat $common (list "audit_logging_enabled" "metrics_enabled" "mnt_number" "tasks_per_mnt" "clone_fd" "fuse_channel_size" "stream_channel_size" "read_dir_fill_ino"
        "entry_timeout_ms" "negative_timeout_ms" "attr_timeout_ms" "remember" "max_background" "congestion_threshold" "node_cache_timeout" "direct_io"
        "open_direct_on_stale" "cache_readdir" "max_readahead_kb" "list_limit" "enable_splice" "path_lock_stripes"))
      "elsewhere" (dict "mnt_path" $chart "fs_path" $chart "web_port" $chart "state_dir" $chart "log" "set curvine.logLevel")
      "harmful" (dict
        "check_permission" (dict "value" "false" "why" "every Pod could then read and write what belongs to others" "fix" "write true")
        "enable_meta_cache" (dict "value" "true" "why" "other nodes' files would not be seen for as long as the cache lasts" "fix" "take it out")
        "write_back_cache" (dict "value" "true" "why" "a file would be renamed before its bytes have left the node, and other nodes would read less" "fix" "take it out")
        "readonly" (dict "value" "true" "why" "nobody could store" "fix" "take it out")) -}}
{{- toJson (dict "master" $master "journal" $journal "worker" $worker "client" $client "fuse" $fuse) -}}
{{- end -}}
