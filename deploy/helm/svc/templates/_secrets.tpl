{{/* The Secret with the credentials, a person's or the chart's. */}}
{{- define "svc.authSecret" -}}
{{- default (printf "%s-auth" (include "svc.fullname" .)) .Values.auth.existingSecret.name -}}
{{- end -}}

{{/* The key of one of them in it: adminToken, adminPassword or key. The chart's own Secret has the keys of values.yaml, whatever existingSecret says. */}}
{{- define "svc.authKey" -}}
{{- $own := dict "adminToken" "admin-token" "adminPassword" "admin-password" "key" "key" -}}
{{- $existing := .root.Values.auth.existingSecret -}}
{{- index (empty $existing.name | ternary $own $existing.keys) .of -}}
{{- end -}}

{{- define "svc.cluster" -}}
{{ include "svc.fullname" . }}-db
{{- end -}}

{{/* Where the database's URL is, as name and key of a Secret. */}}
{{- define "svc.databaseSecret" -}}
{{- with .Values.database -}}
{{- if .cnpg.enabled }}{ name: {{ include "svc.cluster" $ }}-app, key: uri }
{{- else if .existingSecret.name }}{ name: {{ .existingSecret.name }}, key: {{ .existingSecret.key }} }
{{- else }}{ name: {{ include "svc.fullname" $ }}-database, key: url }
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Is the URL in a Secret of the chart's? */}}
{{- define "svc.hasOwnDatabaseSecret" -}}
{{- with .Values.database }}{{ if not (or .cnpg.enabled .existingSecret.name) }}true{{ end }}{{ end -}}
{{- end -}}

{{/* Where the certificate authority of the database is; empty where it is verified, or not, as its URL says. */}}
{{- define "svc.databaseCaSecret" -}}
{{- with .Values.database -}}
{{- if .caSecret.name }}{ name: {{ .caSecret.name }}, key: {{ .caSecret.key }} }
{{- else if .cnpg.enabled }}{ name: {{ include "svc.cluster" $ }}-ca, key: ca.crt }
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svc.tlsSecret" -}}
{{- default (printf "%s-tls" (include "svc.fullname" .)) .Values.tls.existingSecret -}}
{{- end -}}

{{/* The key of the authority in it; empty where there is no TLS, or an authority that every machine trusts. */}}
{{- define "svc.tlsCaKey" -}}
{{- if include "svc.hasTls" . }}{{ .Values.tls.caKey }}{{ end -}}
{{- end -}}
