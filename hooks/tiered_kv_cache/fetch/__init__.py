"""fetch: brings a model from Hugging Face or S3 to the model store, once for all Pods that share it.

command   the verb: arguments in, messages out
spec      what to fetch and where to
hub, s3   the two kinds of remote, as files with sizes and checksums
choose    which of a repository's files an engine needs
lease     who downloads: claims with a heartbeat on the volume, since locks of shared filesystems lie
work      the writer's private directory: downloads, resumes, verifies
store     the finished models and their marker; the only place that readers see
run       the whole, from "is it there" to "it is there"
"""
