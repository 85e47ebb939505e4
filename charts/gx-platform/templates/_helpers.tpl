{{- define "gx.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{- define "gx.selector" -}}
app.kubernetes.io/name: gx-platform
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "gx.labels" -}}
{{ include "gx.selector" . }}
app.kubernetes.io/part-of: gx-platform
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "gx.image" -}}
{{- $images := .root.Values.images -}}
{{- get $images .name | default (printf "%s/gx/gx-%s:%s" $images.registry .name .root.Chart.AppVersion) -}}
{{- end }}

{{/* Whole numbers as they were written: Helm reads large ones as floats. */}}
{{- define "gx.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Environment from a list of [name, value]; empty values are left to the process's own default. */}}
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

{{- define "gx.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "gx.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What both pods have in common, under `spec`. */}}
{{- define "gx.placement" -}}
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Role (own and watched namespaces) or ClusterRole (watching all) of one component, and its bindings. */}}
{{- define "gx.access" -}}
{{- $ := .root -}}
{{- $rules := .rules -}}
{{- $subject := dict "kind" "ServiceAccount" "name" (include "gx.name" .) "namespace" $.Release.Namespace -}}
{{- $all := empty $.Values.watchNamespaces -}}
{{- $grants := list (dict "namespace" $.Release.Namespace "suffix" "" "rules" $rules.own) -}}
{{- if $all -}}
{{- $grants = append $grants (dict "namespace" "" "suffix" "" "rules" $rules.watched) -}}
{{- else -}}
{{- range uniq $.Values.watchNamespaces -}}
{{- $grants = append $grants (dict "namespace" . "suffix" "-watched" "rules" $rules.watched) -}}
{{- end -}}
{{- end -}}
{{- $labels := include "gx.labels" . -}}
{{- $name := include "gx.name" . -}}
{{- range $grants }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRole" "Role" (eq .namespace "") }}
metadata:
  name: {{ $name }}{{ .suffix }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $labels | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" (eq .namespace "") }}
metadata:
  name: {{ $name }}{{ .suffix }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" (eq .namespace "") }}
  name: {{ $name }}{{ .suffix }}
subjects:
  - {{- toYaml $subject | nindent 4 }}
{{- end }}
{{- end }}
