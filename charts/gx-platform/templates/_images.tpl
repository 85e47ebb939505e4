{{/* The reference of the image with this name in the values: <registry>/<repository>, and its digest, or else a tag. */}}
{{- define "gx.image" -}}
{{- $images := .root.Values.images -}}
{{- $image := get $images .name -}}
{{- $registry := $image.registry | default .root.Values.global.imageRegistry | default $images.registry | trimSuffix "/" -}}
{{- if not $registry }}{{ fail "images.registry is empty: name the registry that has your images, such as registry.example.com/me (docs/quick-start.md builds and pushes them); no public registry has them" }}{{ end -}}
{{- $tag := $image.tag | default (ternary "" .root.Chart.AppVersion (ne $image.digest "")) -}}
{{- printf "%s/%s%s%s" $registry $image.repository (ternary "" (printf ":%s" $tag) (empty $tag)) (ternary "" (printf "@%s" $image.digest) (empty $image.digest)) -}}
{{- end }}

{{/* Ends the render for a value that can't be part of a reference, with its name. */}}
{{- define "gx.checkImages" -}}
{{- $images := .Values.images -}}
{{- include "gx.checkRegistry" (list "global.imageRegistry" .Values.global.imageRegistry) -}}
{{- include "gx.checkRegistry" (list "images.registry" $images.registry) -}}
{{- range $name, $image := omit $images "registry" "architecture" "pullSecrets" -}}
{{- include "gx.checkRegistry" (list (printf "images.%s.registry" $name) $image.registry) -}}
{{- if not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $image.repository) }}{{ fail (printf "images.%s.repository: %q is no name of an image; its registry and tag are values of their own" $name $image.repository) }}{{ end -}}
{{- if not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" $image.tag) }}{{ fail (printf "images.%s.tag: %q is no tag; a digest is a value of its own" $name $image.tag) }}{{ end -}}
{{- if not (regexMatch "^(sha256:[0-9a-f]{64})?$" $image.digest) }}{{ fail (printf "images.%s.digest: %q is no digest, which is sha256: and 64 digits of 0-9 and a-f" $name $image.digest) }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "gx.checkRegistry" -}}
{{- $name := index . 0 -}}
{{- $registry := index . 1 -}}
{{- if contains "://" $registry }}{{ fail (printf "%s: %s has a scheme; write host and path alone, as registry.example.com/mirror" $name $registry) }}{{ end -}}
{{- if not (regexMatch "^([A-Za-z0-9]+([.-][A-Za-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*/?)?$" $registry) }}{{ fail (printf "%s: %q is no registry, such as registry.example.com/mirror" $name $registry) }}{{ end -}}
{{- end }}

{{/* The names of the Secrets with which everything of the installation pulls its images, as JSON. */}}
{{- define "gx.pullSecrets" -}}
{{- $names := list -}}
{{- range .Values.global.imagePullSecrets -}}
{{- if kindIs "map" . }}{{ $names = append $names .name }}{{ else }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- toJson (uniq $names) -}}
{{- end }}
{{/* Those of the platform's own pods. */}}
{{- define "gx.platformPullSecrets" -}}
{{- concat (include "gx.pullSecrets" . | fromJsonArray) .Values.images.pullSecrets | uniq | toJson -}}
{{- end }}
