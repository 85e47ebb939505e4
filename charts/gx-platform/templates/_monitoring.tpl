{{/* Ends the render if a part of the monitoring needs a kind that the cluster does not have: [root, part, kind]. */}}
{{- define "gx.needsMonitoring" -}}
{{- $root := index . 0 }}{{ $part := index . 1 }}{{ $kind := index . 2 -}}
{{- $own := get $root.Values.monitoring $part -}}
{{- if not (or $own.withoutDefinitions ($root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $kind))) -}}
{{- $value := ternary (printf "monitoring.%s.enabled" $part) "monitoring.enabled" $own.enabled -}}
{{- fail (printf "%s: this cluster has no %s (monitoring.coreos.com/v1). Install a Prometheus operator first, or set monitoring.%s.withoutDefinitions where the cluster is not asked, as in helm template" $value $kind $part) -}}
{{- end -}}
{{- end }}

{{/* The labels of an object of the monitoring, with those by which it is selected: [root, part]. */}}
{{- define "gx.monitoringLabels" -}}
{{- $root := index . 0 }}{{ $part := index . 1 -}}
{{- $labels := include "gx.labels" (dict "root" $root "component" "monitoring") | fromYaml -}}
{{- merge $labels (deepCopy (get $root.Values.monitoring $part).labels) | toYaml -}}
{{- end }}

{{/* The seconds of a time as Prometheus writes it, such as 5m. */}}
{{- define "gx.seconds" -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) (regexFind "[smhd]$" .)) -}}
{{- end }}

{{/* The `for` of an alert, which is at most the longest one that the values allow: [root, for]. */}}
{{- define "gx.for" -}}
{{- $longest := (index . 0).Values.monitoring.rules.longestFor }}{{ $for := index . 1 -}}
{{- if and $longest (lt (include "gx.seconds" $longest | int64) (include "gx.seconds" $for | int64)) }}{{ $longest }}{{ else }}{{ $for }}{{ end -}}
{{- end }}

{{/* The rule of a NetworkPolicy for the port of probes and metrics. Nodes reach it in any case. */}}
{{- define "gx.metricsIngress" -}}
{{- $root := index . 0 -}}
- ports:
    - { port: {{ index . 1 }} }
{{- with $root.Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml . | nindent 4 }}
    # The chart's own test asks whether all is well.
    - podSelector:
        matchLabels: {{- include "gx.selector" (dict "root" $root "component" "test") | nindent 10 }}
{{- end }}
{{- end }}
