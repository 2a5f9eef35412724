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

{{/* The Secret with the tokens of access servers and controllers; empty where they work with the administrator's. */}}
{{- define "svc.serviceTokensSecret" -}}
{{- if .Values.serviceTokens.existingSecret.name }}{{ .Values.serviceTokens.existingSecret.name }}
{{- else if not .Values.auth.existingSecret.name }}{{ include "svc.fullname" . }}-service-tokens
{{- end -}}
{{- end -}}

{{/* The key of one of them in it: controllerManager or accessServer. The chart's own Secret has the keys of values.yaml, whatever existingSecret says. */}}
{{- define "svc.serviceTokenKey" -}}
{{- $own := dict "controllerManager" "controller-manager-token" "accessServer" "access-server-token" -}}
{{- $existing := .root.Values.serviceTokens.existingSecret -}}
{{- index (empty $existing.name | ternary $own $existing.keys) .of -}}
{{- end -}}

{{/* The token of a component as name and key of a Secret. Takes root and of: controllerManager or accessServer. */}}
{{- define "svc.serviceToken" -}}
{{- with include "svc.serviceTokensSecret" .root -}}
{ name: {{ . }}, key: {{ include "svc.serviceTokenKey" $ }} }
{{- else -}}
{ name: {{ include "svc.authSecret" .root }}, key: {{ include "svc.authKey" (dict "root" .root "of" "adminToken") }} }
{{- end -}}
{{- end -}}

{{/* Where a pod has it. Takes the same. */}}
{{- define "svc.serviceTokenFile" -}}
{{- if include "svc.serviceTokensSecret" .root -}}
/etc/svc/service-tokens/{{ dict "controllerManager" "controller-manager" "accessServer" "access-server" | dig .of "" }}
{{- else -}}
/etc/svc/credentials/admin-token
{{- end -}}
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
