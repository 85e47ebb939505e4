{{/* Parts of the platform's pods. Each takes `root`, the `component`, and the `values` of its section. */}}

{{- define "gx.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Whether pods name their user and group. OpenShift gives each namespace ids of its own, and refuses others. */}}
{{- define "gx.hasFixedIds" -}}
{{- $isOpenShift := .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- if or (eq .Values.fixedIds "always") (and (eq .Values.fixedIds "auto") (not $isOpenShift)) }}true{{ end -}}
{{- end }}

{{- define "gx.podSecurity" -}}
runAsNonRoot: true
{{- if include "gx.hasFixedIds" . }}
runAsUser: 10001
runAsGroup: 10001
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* The name of the section in the values. */}}
{{- define "gx.section" -}}
{{- ternary "controlPlane" .component (eq .component "control-plane") -}}
{{- end }}

{{- define "gx.podLabels" -}}
{{- $own := include "gx.selector" . | fromYaml -}}
{{- include "gx.checkLabels" (list (printf "%s.podLabels" (include "gx.section" .)) .values.podLabels $own) -}}
{{- mergeOverwrite (deepCopy .root.Values.commonLabels) .values.podLabels $own | toYaml -}}
{{- end }}

{{/* The chart's environment, which is a list of [name, value], and that of the values after it. */}}
{{- define "gx.podEnv" -}}
{{- $this := index . 0 -}}
{{- $env := include "gx.env" (index . 1) -}}
{{- $env -}}
{{- $names := list -}}
{{- range $env | fromYamlArray }}{{ $names = append $names .name }}{{ end -}}
{{- range $this.values.extraEnv }}
{{- if has .name $names }}{{ fail (printf "%s.extraEnv: %s is set by the chart" (include "gx.section" $this) .name) }}{{ end }}
{{- end }}
{{- with $this.values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The network's proxies, as a JSON list of [name, value]. Names of the cluster are asked directly. */}}
{{- define "gx.proxies" -}}
{{- $proxy := .Values.settings.proxy -}}
{{- if or $proxy.https $proxy.http -}}
{{- $direct := concat (list "localhost" "127.0.0.1" "::1" ".svc" (printf ".%s" .Values.settings.clusterDomain)) $proxy.noProxy -}}
{{- toJson (list (list "HTTPS_PROXY" $proxy.https) (list "HTTP_PROXY" $proxy.http) (list "NO_PROXY" (join "," (uniq $direct)))) -}}
{{- else -}}
[]
{{- end -}}
{{- end }}

{{/* Further certificate authorities of a process of the platform: the name of a ConfigMap in the release namespace. */}}
{{- define "gx.authorities" -}}
{{- ternary .root.Values.controlPlane.oidc.caConfigMap "" (eq .component "control-plane") | default .root.Values.settings.caConfigMap -}}
{{- end }}
{{- define "gx.authoritiesMount" -}}
{{- if include "gx.authorities" . -}}
- { name: authorities, mountPath: /etc/gx/authorities, readOnly: true }
{{- end -}}
{{- end }}
{{- define "gx.authoritiesVolume" -}}
{{- with include "gx.authorities" . -}}
- name: authorities
  configMap: { name: {{ . }} }
{{- end -}}
{{- end }}

{{/* The collector's credential for a process of the platform. One that is missing must not keep it from starting. */}}
{{- define "gx.otlpHeaders" -}}
{{- $otlp := .Values.settings.otlp -}}
{{- if and $otlp.endpoint $otlp.headersSecret -}}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ $otlp.headersSecret }}, key: headers, optional: true } }
{{- end -}}
{{- end }}

{{/* Where the pods stand, and with which credentials their images are pulled. */}}
{{- define "gx.placement" -}}
{{- with include "gx.platformPullSecrets" .root | fromJsonArray }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- $ofImage := ternary dict (dict "kubernetes.io/arch" .root.Values.images.architecture) (empty .root.Values.images.architecture) }}
{{- with merge (deepCopy .values.nodeSelector) $ofImage }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "gx.spread" . | fromJsonArray }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spread constraints, as JSON: those of the values, or else over nodes and zones if there is more than one pod. */}}
{{- define "gx.spread" -}}
{{- $given := .values.topologySpreadConstraints -}}
{{- if and (kindIs "invalid" $given) (gt (int .values.replicas) 1) -}}
{{- $usual := dict "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway" -}}
{{- $given = list (merge (dict "topologyKey" "kubernetes.io/hostname") $usual) (merge (dict "topologyKey" "topology.kubernetes.io/zone") $usual) -}}
{{- end -}}
{{- $constraints := list -}}
{{- $own := dict "labelSelector" (dict "matchLabels" (include "gx.selector" . | fromYaml)) -}}
{{- range $given }}{{ $constraints = append $constraints (merge (deepCopy .) $own) }}{{ end -}}
{{- toJson $constraints -}}
{{- end }}

{{/* Whether drains of nodes take one pod at a time: as the values say, or else if there is more than one pod. */}}
{{- define "gx.hasBudget" -}}
{{- $given := .values.podDisruptionBudget -}}
{{- if ternary (gt (int .values.replicas) 1) $given (kindIs "invalid" $given) }}true{{ end -}}
{{- end }}

{{/* Where the operator puts the pods that it makes, as JSON; empty if no value is set. */}}
{{- define "gx.agentPlacement" -}}
{{- $isSet := false -}}
{{- range .Values.settings.placement }}{{ range . }}{{ if . }}{{ $isSet = true }}{{ end }}{{ end }}{{ end -}}
{{- if $isSet }}{{ toJson .Values.settings.placement }}{{ end -}}
{{- end }}
