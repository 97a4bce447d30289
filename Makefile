# Each target is one line that calls a tool; the tools say what they do.
RUN := tools/run.sh -m

.PHONY: up down status test test-fast lint unit chart patch router faults property operator scheduling cluster drills test-curvine images render-bench bench bench-peers texts schema golden lock docs plan package keys

up:         ## a local cluster with two real engines, and the proof that they share their cache
	@$(RUN) local_cluster up

down:       ## remove the cluster; caches stay
	@$(RUN) local_cluster down

status:     ## what runs, and the URL
	@$(RUN) local_cluster status

test:       ## lint, unit, chart and cluster tests
	@$(RUN) testing all

test-fast:  ## all that needs no cluster
	@$(RUN) testing fast

lint unit chart patch router faults operator scheduling cluster:  ## one part of the tests
	@$(RUN) testing $@

docs:       ## the site in site/, with every link checked
	@$(RUN) testing docs

property:   ## thousands of values trees from the schema; EXAMPLES=50000 for a long run
	@PROPERTY_EXAMPLES=$(EXAMPLES) $(RUN) testing property

drills:     ## storms and broken parts on real engines, minutes each; not in `make test`
	@$(RUN) testing drills

test-curvine:  ## a pool of Curvine on the local cluster: CURVINE_IMAGE=<reference, or path of an image archive>; mode csi: 3 more
	@CURVINE_IMAGE=$(CURVINE_IMAGE) CURVINE_CSI_IMAGE=$(CURVINE_CSI_IMAGE) \
	  CSI_PROVISIONER_IMAGE=$(CSI_PROVISIONER_IMAGE) CSI_REGISTRAR_IMAGE=$(CSI_REGISTRAR_IMAGE) $(RUN) testing curvine

plan:       ## what a values file would make and change, before anything is installed: LOB=values/assistant.yaml NAMESPACE=<namespace>
	@LOB="$(LOB)" NAMESPACE=$(NAMESPACE) RELEASE=$(RELEASE) OVER="$(OVER)" CONFIGS="$(CONFIGS)" GPU_MEMORY=$(GPU_MEMORY) NODE=$(NODE) JSON=$(JSON) \
	  $(RUN) planning

images:     ## build the container images
	@$(RUN) local_cluster images

bench:      ## how fast each tier of the demo answers, with figures: VARIANT=<name> OUT=<folder> BUDGET=<seconds>
	@VARIANT=$(VARIANT) OUT=$(OUT) BUDGET=$(BUDGET) CONVERSATIONS=$(CONVERSATIONS) $(RUN) local_cluster bench

bench-peers:  ## our L2 beside LMCache's others and a Redis, on the same engine: PEERS=<names> OUT=<folder> BUDGET=<seconds>
	@PEERS="$(PEERS)" OUT=$(OUT) BUDGET=$(BUDGET) $(RUN) local_cluster peers

texts:      ## does each tier of the demo give the same text: PROMPTS=<number> AT_ONCE=<numbers, such as 1,8> OUT=<folder>
	@PROMPTS=$(PROMPTS) AT_ONCE=$(AT_ONCE) OUT=$(OUT) $(RUN) local_cluster texts

render-bench:  ## seconds for 200 models; PEER=<folder of production-stack's chart> beside ours
	@PEER=$(PEER) $(RUN) testing render-bench

schema:     ## values.schema.json and docs/values.md from values.schema.yaml
	@tools/run.sh tools/schema/generate.py

golden:     ## rewrite the golden manifests; review the diff
	@$(RUN) testing golden

lock:       ## resolve locks/dev.txt again
	@$(RUN) uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-emit-index-url --extra test --extra bench --extra docs pyproject.toml -o locks/dev.txt --custom-compile-command "make lock"

package:    ## dist/: the chart's archive, list of images, bills of materials, checksums; KEY=<gpg key> signs
	@$(RUN) package --key "$(KEY)"

keys:       ## how many keys of the values have an effect, and which have none
	@$(RUN) key_coverage
