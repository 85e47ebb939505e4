{{/* How the names of all objects begin. The longest that it begins is a namespace, <fullname>-builds-buildkit. */}}
{{- define "gx.fullname" -}}
{{- $name := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name .Values.nameOverride) (empty .Values.nameOverride)) -}}
{{- if gt (len $name) 47 }}{{ fail (printf "fullnameOverride: names begin with %s, which is longer than 47 characters" $name) }}{{ end -}}
{{- $name -}}
{{- end }}

{{- define "gx.name" -}}
{{ include "gx.fullname" .root }}-{{ .component }}
{{- end }}

{{- define "gx.selector" -}}
app.kubernetes.io/name: gx-platform
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "gx.labels" -}}
{{- $own := dict
  "app.kubernetes.io/part-of" "gx-platform"
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version)
-}}
{{- $own = merge $own (include "gx.selector" . | fromYaml) -}}
{{- include "gx.checkLabels" (list "commonLabels" .root.Values.commonLabels $own) -}}
{{- merge $own (deepCopy .root.Values.commonLabels) | toYaml -}}
{{- end }}

{{/* Ends the render if given labels have a key of the chart's own, or one by which namespaces are known. */}}
{{- define "gx.checkLabels" -}}
{{- $own := index . 2 -}}
{{- $value := index . 0 -}}
{{- range $key, $_ := index . 1 -}}
{{- if or (hasKey $own $key) (regexMatch "^(gx[.]dev|pod-security[.]kubernetes[.]io)/" $key) }}{{ fail (printf "%s: %s is a label of the chart" $value $key) }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Prints integers as they were written, because Helm reads large ones as floats. */}}
{{- define "gx.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Environment from a list of [name, value]. For an empty value the process uses its own default. */}}
{{- define "gx.env" -}}
- name: GX_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- range . }}
{{- $value := include "gx.text" (index . 1) }}
{{- if and (not (kindIs "invalid" (index . 1))) (ne $value "") }}
- name: {{ index . 0 }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The protocol of the control plane, which decides the name and number of its port. */}}
{{- define "gx.portName" -}}
{{- ternary "http" "https" (empty .Values.controlPlane.tls.secretName) -}}
{{- end }}
{{- define "gx.probeScheme" -}}
{{- if .Values.controlPlane.tls.secretName }}, scheme: HTTPS{{ end -}}
{{- end }}
{{- define "gx.servicePort" -}}
{{- .Values.controlPlane.service.port | default (ternary 80 443 (empty .Values.controlPlane.tls.secretName)) -}}
{{- end }}

{{/* Where pods of the cluster find the control plane. */}}
{{- define "gx.controlPlaneUrl" -}}
{{- $host := printf "%s-control-plane.%s.svc.%s" (include "gx.fullname" .) .Release.Namespace .Values.settings.clusterDomain -}}
{{- printf "%s://%s:%s" (include "gx.portName" .) $host (include "gx.servicePort" .) -}}
{{- end }}

{{/* Watched namespaces, separated by commas. Empty: all. */}}
{{- define "gx.watched" -}}
{{- if not .Values.watchAllNamespaces }}{{ join "," (.Values.watchNamespaces | default .Values.agents.namespaces | uniq) }}{{ end }}
{{- end }}

{{/*
Permissions of one component and their bindings: a Role in its own namespace and in each watched one. If all namespaces are
watched, a ClusterRole that makes no workloads and uses no Secrets, and permission for both in the namespaces of agents alone.
*/}}
{{- define "gx.access" -}}
{{- $ := .root -}}
{{- $rules := .rules -}}
{{- $this := dict "account" (include "gx.name" .) "labels" (include "gx.labels" .) "system" $.Release.Namespace -}}
{{- if $rules.own -}}
{{- include "gx.grant" (dict "this" $this "role" $.Release.Namespace "bindings" (list $.Release.Namespace) "rules" $rules.own) -}}
{{- end -}}
{{- if and $rules.apiServer (empty $.Values.settings.agentNetwork.apiServer) -}}
{{- include "gx.grant" (dict "this" $this "role" "default" "bindings" (list "default") "rules" $rules.apiServer "suffix" "-api-server") -}}
{{- end -}}
{{- if $.Values.watchAllNamespaces -}}
{{- include "gx.grant" (dict "this" $this "role" "" "bindings" (list "") "rules" $rules.watched) -}}
{{- if $rules.granted -}}
{{- include "gx.grant" (dict "this" $this "role" "" "bindings" (uniq $.Values.agents.namespaces) "rules" $rules.granted "suffix" "-secrets") -}}
{{- end -}}
{{- else -}}
{{- range splitList "," (include "gx.watched" $) -}}
{{- include "gx.grant" (dict "this" $this "role" . "bindings" (list .) "rules" $rules.both "suffix" "-watched") -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
The name of an object outside of the release's namespaces: names have no dots, so that no other installation has it, also
where the release of another namespace has the same name. Takes `name` and the namespace of the release, `system`.
*/}}
{{- define "gx.outside" -}}
{{ .name }}.{{ .system }}
{{- end }}

{{/*
A Role in the namespace `role`, or a ClusterRole if that is empty, and its binding in each of `bindings`. Owners of
namespaces bind the ClusterRole of Secrets by its plain name, which is the same rule for each installation.
*/}}
{{- define "gx.grant" -}}
{{- $kind := ternary "ClusterRole" "Role" (eq .role "") -}}
{{- $suffix := .suffix | default "" -}}
{{- $name := printf "%s%s" .this.account $suffix }}
{{- if or (and (eq .role "") (ne $suffix "-secrets")) (eq $suffix "-api-server") }}
{{- $name = include "gx.outside" (dict "name" $name "system" .this.system) }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with .role }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- .this.labels | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
{{- $this := .this }}
{{- range .bindings }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" (eq . "") }}
metadata:
  name: {{ $name }}
  {{- with . }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $this.labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $this.account }}
    namespace: {{ $this.system }}
{{- end }}
{{- end }}

{{/*
How the default Listener stands: `undefined` if Helm installs into a cluster that does not know its kind yet; `unowned`
if it exists and Helm would refuse it as another release's, or as one that somebody made by hand. Renderers without a
cluster, as Argo CD's, always get it as a plain object: `lookup` finds nothing for them.
*/}}
{{- define "gx.defaultListener" -}}
{{- if not (.Capabilities.APIVersions.Has "gx.dev/v1alpha1/Listener") -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}undefined{{ end -}}
{{- else -}}
{{- $live := lookup "gx.dev/v1alpha1" "Listener" .Release.Namespace "default" -}}
{{- if $live -}}
{{- if ne (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $live) .Release.Name }}unowned{{ end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Where builds run, and whether there are any. */}}
{{- define "gx.buildNamespace" -}}
{{- .Values.builds.namespace | default (printf "%s-builds" (include "gx.fullname" .)) -}}
{{- end }}
{{/*
How the name of an image that builds pushed begins, up to the namespace that it was built for, as a regular expression.
The registry's usual port may be in it or not, and Docker Hub has several names, or none.
*/}}
{{- define "gx.builtImages" -}}
{{- $registry := lower (trimSuffix "/" .Values.builds.registry) -}}
{{- $first := first (splitList "/" $registry) -}}
{{- $host := ternary $first "docker.io" (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) -}}
{{- $path := trimPrefix $host $registry | trimPrefix "/" -}}
{{- $port := "(:0*(443|80))?" -}}
{{- if has $host (list "docker.io" "index.docker.io" "registry-1.docker.io") -}}
^(((index|registry-1)[.])?docker[.]io{{ $port }}/)?
{{- else -}}
^{{ regexReplaceAll ":0*(443|80)$" $host "" | replace "." "[.]" }}{{ $port }}/
{{- end -}}
{{- with $path }}{{ replace "." "[.]" . }}/{{ end -}}
{{- end }}

{{/* Where the credentials of git hosts are kept. */}}
{{- define "gx.gitNamespace" -}}
{{- .Values.builds.gitNamespace | default (printf "%s-git" (include "gx.fullname" .)) -}}
{{- end }}
{{/* Where the lines of Dockerfiles run; empty if nowhere. */}}
{{- define "gx.buildkitNamespace" -}}
{{- if and .Values.builds.registry .Values.builds.buildkit.enabled -}}
{{- .Values.builds.buildkit.namespace | default (printf "%s-buildkit" (include "gx.buildNamespace" .)) -}}
{{- end -}}
{{- end }}

{{/* The namespaces of builds and the pod security level of each, as JSON. */}}
{{- define "gx.buildPlaces" -}}
{{- $places := list (dict "namespace" (include "gx.buildNamespace" .) "level" "restricted") -}}
{{- with include "gx.buildkitNamespace" . }}{{- $places = append $places (dict "namespace" . "level" "privileged") }}{{- end -}}
{{- toJson $places -}}
{{- end }}
{{- define "gx.hosting" -}}
{{- .Values.controlPlane.hosting | default (ternary "self-hosted" "both" (empty .Values.builds.registry)) -}}
{{- end }}

{{/* Builds of all tenants at a time, which are more than those of one. */}}
{{- define "gx.buildsInAll" -}}
{{- $each := int .Values.builds.atOnce -}}
{{- $all := int (.Values.builds.atOnceInAll | default (mul 2 $each)) -}}
{{- if le $all $each -}}
{{- fail (printf "builds.atOnceInAll: it must be more than builds.atOnce (%d), or the builds of one tenant could hold all places" $each) -}}
{{- end -}}
{{- $all -}}
{{- end }}

{{/* Settings of the operator for builds, as JSON. */}}
{{- define "gx.builds" -}}
{{- $builds := .Values.builds -}}
{{- if $builds.registry -}}
{{- toJson (list
  (list "GX_BUILD_IMAGE" (include "gx.image" (dict "root" . "name" "builder")))
  (list "GX_BUILD_BASE_IMAGE" (include "gx.image" (dict "root" . "name" "agentServer")))
  (list "GX_BUILD_PYTHON_BASE_IMAGE" (include "gx.image" (dict "root" . "name" "agentServerPython")))
  (list "GX_BUILD_NAMESPACE" (include "gx.buildNamespace" .))
  (list "GX_GIT_NAMESPACE" (include "gx.gitNamespace" .))
  (list "GX_BUILDKIT_NAMESPACE" (include "gx.buildkitNamespace" .))
  (list "GX_BUILDKIT_IMAGE" (ternary (include "gx.image" (dict "root" . "name" "buildkit")) "" $builds.buildkit.enabled))
  (list "GX_BUILDER_REPOSITORY" $builds.registry)
  (list "GX_BUILDER_SERVICE_ACCOUNT" "gx-build")
  (list "GX_BUILDER_REGISTRY_SECRET" $builds.pushSecret)
  (list "GX_BUILDER_PULL_SECRET" $builds.pullSecret)
  (list "GX_BUILD_REGISTRY_INSECURE" (ternary "true" "" $builds.insecure))
  (list "GX_BUILD_NPM_REGISTRY" $builds.npmRegistry)
  (list "GX_BUILD_PYPI_INDEX" $builds.pypiIndex)
  (list "GX_BUILD_INDEX_SECRET" $builds.indexSecret)
  (list "GX_BUILD_CA_CONFIG_MAP" ($builds.caConfigMap | default .Values.settings.caConfigMap))
  (list "GX_BUILD_PARALLEL" $builds.atOnce)
  (list "GX_BUILD_PARALLEL_TOTAL" (include "gx.buildsInAll" .))
  (list "GX_BUILD_DISK_MB" $builds.diskMb)
  (list "GX_BUILDER_CPU_MILLI" $builds.cpuMilli)
  (list "GX_BUILDER_MEMORY_MB" $builds.memoryMb)
  (list "GX_BUILDER_DEADLINE_SECONDS" $builds.deadlineSeconds)
  (list "GX_BUILDER_KEEP_SECONDS" $builds.keepSeconds)
  (list "GX_BUILD_POLL_SECONDS" (ternary "" $builds.pollSeconds (empty $builds.pollSeconds)))
) -}}
{{- else -}}
[]
{{- end -}}
{{- end }}

{{/* The kinds of routes that the operator makes or removes, as JSON. */}}
{{- define "gx.routeKinds" -}}
{{- $route := .Values.settings.route -}}
{{- toJson (ternary $route.former (append $route.former $route.kind) (eq $route.kind "None")) -}}
{{- end }}

{{/*
The annotations of an Ingress, as JSON: those of the values, and before them those by which its controller lets through
streams that rest for a while, WebSockets and large bodies. Controllers are known by the usual name of their class:
- nginx: kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations. Reads wait 60 s, bodies have 1 MB.
- contour: projectcontour.io/docs, "Annotations Reference". Answers end after 15 s, and WebSockets are opened on no path.
- haproxy: haproxy-ingress.github.io/docs/configuration/keys, and haproxy.com/documentation/kubernetes-ingress (two
  controllers with the same class). The server may be silent for 50 s.
- alb: kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations. Connections rest 60 s,
  targets are node ports, and their health is asked at /.
- traefik has no such annotation: its time limits are settings of its entry points.
*/}}
{{- define "gx.ingressAnnotations" -}}
{{- $known := dict
  "nginx" (dict
    "nginx.ingress.kubernetes.io/proxy-read-timeout" "3600"
    "nginx.ingress.kubernetes.io/proxy-send-timeout" "3600"
    "nginx.ingress.kubernetes.io/proxy-body-size" "0"
    "nginx.ingress.kubernetes.io/proxy-buffering" "off")
  "contour" (dict
    "projectcontour.io/response-timeout" "infinity"
    "projectcontour.io/websocket-routes" "{path}")
  "haproxy" (dict
    "haproxy-ingress.github.io/timeout-server" "1h"
    "haproxy-ingress.github.io/timeout-tunnel" "1h"
    "haproxy.org/timeout-server" "1h"
    "haproxy.org/timeout-tunnel" "1h")
  "alb" (dict
    "alb.ingress.kubernetes.io/target-type" "ip"
    "alb.ingress.kubernetes.io/healthcheck-path" .healthPath
    "alb.ingress.kubernetes.io/load-balancer-attributes" "idle_timeout.timeout_seconds=3600")
-}}
{{- toJson (merge (deepCopy .route.annotations) (get $known .route.className | default dict)) -}}
{{- end }}

{{/* The hosts of the platform's own processes, as a JSON list. */}}
{{- define "gx.ownHosts" -}}
{{- $own := .Values.controlPlane -}}
{{- toJson (concat (list $own.route.host .Values.console.route.host) $own.tls.certManager.dnsNames | compact | uniq) -}}
{{- end }}

{{/*
Hosts that no deployment gets, as a JSON list: the platform's own, those that its settings name, because the platform sends
credentials there or believes their answers, and those that the administrator lists. Addresses are no hosts of routes.
*/}}
{{- define "gx.reservedHosts" -}}
{{- $values := .Values -}}
{{- $settings := $values.settings -}}
{{- $own := $values.controlPlane -}}
{{- $named := list $settings.agentKeys.controlPlaneUrl $own.oidc.issuer $own.oidc.jwksUrl $settings.prometheus.url $settings.otlp.endpoint
  $values.builds.registry $values.builds.npmRegistry $values.builds.pypiIndex $values.images.registry $values.global.imageRegistry -}}
{{- $named = concat $named $own.gitHosts -}}
{{- range concat $own.gitIntegrations $settings.backups.targets }}{{ $named = concat $named (list (.host | default "") (.endpoint | default "")) }}{{ end -}}
{{- $hosts := concat (include "gx.ownHosts" . | fromJsonArray) $settings.route.reservedHosts -}}
{{- range compact $named -}}
{{- $rest := regexReplaceAll "^[^/]*@" (regexReplaceAll "^[a-z0-9+.-]+://" (lower .) "") "" -}}
{{- $hosts = append $hosts (regexReplaceAll "[:/?#].*$" $rest "") -}}
{{- end -}}
{{- $found := list -}}
{{- range $hosts | uniq -}}
{{- $host := lower . -}}
{{- if and (regexMatch "^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$" $host) (not (regexMatch "[.][0-9]+$" $host)) }}{{ $found = append $found $host }}{{ end -}}
{{- end -}}
{{- /* Everybody's registry is nobody's host here, and the one that stands for none in config and install.yaml neither. */}}
{{- toJson (without ($found | sortAlpha) "docker.io" "registry.invalid") -}}
{{- end }}

{{/*
Ends the render if the pattern `place` can give deployments of two namespaces the same host and path, as findMeeting of
src/schema/platform/spec/route-place.ts decides. No namespaces means any.
*/}}
{{- define "gx.checkMeeting" -}}
{{- $place := .place -}}
{{- $namespaces := uniq .namespaces -}}
{{- $parts := list -}}
{{- $joint := list -}}
{{- range regexSplit "[^a-z0-9{}-]+" $place -1 -}}
{{- if contains "{" . }}{{ $parts = append $parts . }}{{ end -}}
{{- if and (contains "{name}" .) (contains "{namespace}" .) }}{{ $joint = append $joint . }}{{ end -}}
{{- end -}}
{{- if and $joint (eq (len $joint) (len $parts)) -}}
{{- $meeting := ternary (list "team" "prod-team") list (empty $namespaces) -}}
{{- range $index, $one := $namespaces -}}
{{- range $other := slice $namespaces (add1 $index | int) -}}
{{- $meets := true -}}
{{- range $part := $joint -}}
{{- $around := splitList "{name}" (replace "{namespace}" $one $part) -}}
{{- $around2 := splitList "{name}" (replace "{namespace}" $other $part) -}}
{{- $starts := or (hasPrefix (first $around2) (first $around)) (hasPrefix (first $around) (first $around2)) -}}
{{- $ends := or (hasSuffix (last $around2) (last $around)) (hasSuffix (last $around) (last $around2)) -}}
{{- if not (and $starts $ends) }}{{ $meets = false }}{{ end -}}
{{- end -}}
{{- if $meets }}{{ $meeting = list $one $other }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $meeting }}{{ fail (printf "settings.route: %s can give deployments of %s and %s the same place; put a dot between the names, as in {name}.{namespace}.agents.example.com, or list namespaces none of which is the end or the beginning of another" $place (first $meeting) (last $meeting)) }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Settings of routes for the operator, as JSON; empty if there are none. Contradictions end the render with their name. */}}
{{- define "gx.route" -}}
{{- $route := .Values.settings.route -}}
{{- $isIngress := eq $route.kind "Ingress" -}}
{{- $watched := include "gx.watched" . -}}
{{- $needed := ternary (list "{name}") (list "{name}" "{namespace}") (and (ne $watched "") (not (contains "," $watched))) -}}
{{- if ne $route.kind "None" -}}
{{- if and $route.parentRefs $isIngress }}{{ fail "settings.route: parentRefs are those of an HTTPRoute, and the kind is Ingress: a deployment has one route" }}{{ end -}}
{{- if and $route.className (not $isIngress) }}{{ fail "settings.route: className is that of an Ingress, and the kind is HTTPRoute: a deployment has one route" }}{{ end -}}
{{- if and (empty $route.parentRefs) (not $isIngress) }}{{ fail "settings.route.parentRefs: an HTTPRoute needs a parent" }}{{ end -}}
{{- if and $route.tls.enabled (not $isIngress) }}{{ fail "settings.route.tls: the Gateway of an HTTPRoute decides about TLS" }}{{ end -}}
{{- if and $route.tls.enabled (empty $route.tls.secretName) (empty $route.tls.annotations) }}{{ fail "settings.route.tls: needs secretName, or annotations by which an issuer makes the Secret" }}{{ end -}}
{{- if has $route.kind $route.former }}{{ fail (printf "settings.route.former: %s is the kind of the routes of today" $route.kind) }}{{ end -}}
{{- if not $route.host }}{{ fail "settings.route.host: needs a pattern, such as {name}.{namespace}.agents.example.com" }}{{ end -}}
{{- $host := $route.host | replace "{name}" "a" | replace "{namespace}" "a" -}}
{{- if gt (len $host) 253 }}{{ fail (printf "settings.route.host: %s is longer than 253 characters" $route.host) }}{{ end -}}
{{- range splitList "." $host }}
{{- if gt (len .) 63 }}{{ fail (printf "settings.route.host: %s of %s is longer than 63 characters" . $route.host) }}{{ end -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .) }}{{ fail (printf "settings.route.host: %s is no host name" $route.host) }}{{ end -}}
{{- end -}}
{{- range $needed }}
{{- if not (contains . (printf "%s%s" $route.host $route.path)) }}{{ fail (printf "settings.route: %s%s gives two deployments the same place; host and path need %s" $route.host $route.path (join " and " $needed)) }}{{ end -}}
{{- end -}}
{{- include "gx.checkMeeting" (dict "place" (printf "%s%s" $route.host $route.path) "namespaces" (ternary list (splitList "," $watched) (eq $watched ""))) -}}
{{- $given := regexReplaceAll "[{](name|namespace)[}]" (replace "." "[.]" $route.host) "[a-z0-9-]+" -}}
{{- range concat (include "gx.ownHosts" . | fromJsonArray) $route.reservedHosts }}
{{- if regexMatch (printf "^%s$" $given) . }}{{ fail (printf "settings.route.host: %s can give a deployment the host %s, which is the platform's own or reserved; give agents a domain of their own, such as {name}.{namespace}.agents.example.com" $route.host .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $annotations := ternary (include "gx.ingressAnnotations" (dict "route" $route "healthPath" "/ok") | fromJson) $route.annotations $isIngress -}}
{{- $given := deepCopy .Values.settings -}}
{{- $_ := set $given.route "annotations" $annotations -}}
{{- $_ := set $given.route "reservedHosts" (include "gx.reservedHosts" . | fromJsonArray) -}}
{{- if or (ne $route.kind "None") $route.former }}{{ toJson $given.route }}{{ end -}}
{{- end }}

{{/*
The route from outside to a process: an HTTPRoute or an Ingress. Takes `root`, `component`, `section`, which is the name of its
values, the `port` of its Service, and the `path` from which on the route leads to it.
*/}}
{{- define "gx.processRoute" -}}
{{- $this := . -}}
{{- $route := (index .root.Values .section).route -}}
{{- $isIngress := eq $route.kind "Ingress" -}}
{{- if not $route.host }}{{ fail (printf "%s.route.host: a route needs a host" .section) }}{{ end -}}
{{- if and $isIngress $route.parentRefs }}{{ fail (printf "%s.route: parentRefs are those of an HTTPRoute, and the kind is Ingress" .section) }}{{ end -}}
{{- if and (not $isIngress) (empty $route.parentRefs) }}{{ fail (printf "%s.route.parentRefs: an HTTPRoute needs a parent" .section) }}{{ end -}}
{{- if and (not $isIngress) (or $route.className $route.tlsSecretName) }}{{ fail (printf "%s.route: className and tlsSecretName are those of an Ingress, and the kind is HTTPRoute" .section) }}{{ end -}}
apiVersion: {{ ternary "networking.k8s.io/v1" "gateway.networking.k8s.io/v1" $isIngress }}
kind: {{ $route.kind }}
metadata:
  name: {{ include "gx.name" $this }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "gx.labels" $this | nindent 4 }}
    {{- with $route.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with ternary (include "gx.ingressAnnotations" (dict "route" $route "healthPath" "/healthz") | replace "{path}" .path | fromJson) $route.annotations $isIngress }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
{{- if $isIngress }}
  {{- with $route.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $route.tlsSecretName }}
  tls:
    - hosts: [{{ $route.host | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ $route.host | quote }}
      http:
        paths:
          - path: {{ $this.path }}
            pathType: Prefix
            backend:
              service:
                name: {{ include "gx.name" $this }}
                port: { number: {{ $this.port }} }
{{- else }}
  parentRefs: {{- toYaml $route.parentRefs | nindent 4 }}
  hostnames: [{{ $route.host | quote }}]
  rules:
    - {{- if ne $this.path "/" }}
      matches: [{ path: { type: PathPrefix, value: {{ $this.path }} } }]
      {{- end }}
      backendRefs:
        - { name: {{ include "gx.name" $this }}, port: {{ $this.port }} }
      {{- /* Streams of logs and of events last, and a request may wait for a revision. */}}
      {{- if ne $this.root.Values.settings.route.timeouts "never" }}
      timeouts: { request: 0s }
      {{- end }}
{{- end }}
{{- end }}

{{- /* Returns the names that targets of backups have in a field: of their Secrets, or of their claims. */}}
{{- define "gx.targetNames" -}}
{{- $names := list -}}
{{- range .targets }}{{ with get . $.field }}{{ $names = append $names . }}{{ end }}{{ end -}}
{{- join "," ($names | uniq) -}}
{{- end }}
