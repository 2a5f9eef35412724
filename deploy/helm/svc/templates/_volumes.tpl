{{/* Which entries of the credentials a component sees as files; none where it works with a token of its own and has no database. Takes root and component. */}}
{{- define "svc.credentials" -}}
{{- $key := include "svc.authKey" (dict "root" .root "of" "key") -}}
{{- $token := include "svc.authKey" (dict "root" .root "of" "adminToken") -}}
{{- if or .component.database (not (include "svc.serviceTokensSecret" .root)) -}}
{{ $token | quote }}: admin-token
{{- end }}
{{- if .component.database }}
{{ include "svc.authKey" (dict "root" .root "of" "adminPassword") | quote }}: admin-password
{{ $key | quote }}: key
{{- end -}}
{{- end -}}

{{/* Which tokens of access servers and controllers it sees: its own, and an API server all that there are. Takes root and component. */}}
{{- define "svc.serviceTokens" -}}
{{- if include "svc.serviceTokensSecret" .root -}}
{{- $own := .component.key -}}
{{- $root := .root -}}
{{- range include "svc.components" .root | fromYamlArray -}}
{{- if and (ne .key "apiserver") (has $own (list "apiserver" .key)) }}
{{ include "svc.serviceTokenKey" (dict "root" $root "of" .key) | quote }}: {{ .name }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The certificate where one listens with it; of its authority alone where one only calls. */}}
{{- define "svc.tlsItems" -}}
{{- if .component.tlsPort -}}
tls.crt: tls.crt
tls.key: tls.key
{{ end -}}
{{- if or (ne .component.name "apiserver") (include "svc.accessOnPlatformHost" (dict "root" .root "how" "forward")) }}{{ with include "svc.tlsCaKey" .root }}{{ . | quote }}: ca.crt{{ end }}{{ end -}}
{{- end -}}

{{/* A folder that is empty at each start, as a source of a volume. Takes how much may be in it; empty: as much as the node has. */}}
{{- define "svc.emptyDir" -}}
{{ empty . | ternary dict (dict "sizeLimit" .) | toJson }}
{{- end -}}

{{/* Takes root, values where a component has its own; config where the options are elsewhere than in the ConfigMap of the release; database, where that is spoken to, and secret where its URL is elsewhere than svc.databaseSecret says. */}}
{{- define "svc.baseVolumes" -}}
{{- $limits := merge (dict) (dig "emptyDirSizeLimits" dict (default dict .values)) .root.Values.emptyDirSizeLimits -}}
- name: data
  emptyDir: {{ include "svc.emptyDir" $limits.data }}
- name: tmp
  emptyDir: {{ include "svc.emptyDir" $limits.tmp }}
- name: config
  configMap: { name: {{ default (printf "%s-config" (include "svc.fullname" .root)) .config }} }
{{- if .database }}
{{- $secret := default (include "svc.databaseSecret" .root | fromYaml) .secret }}
{{ include "svc.secretVolume" (dict "name" "database-url" "secret" $secret.name "items" (dict $secret.key "url")) }}
{{- include "svc.databaseCaVolume" .root }}
{{- end }}
{{- end -}}

{{- define "svc.baseMounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
- { name: config, mountPath: /etc/svc/config, readOnly: true }
{{- if .database }}
- { name: database-url, mountPath: /etc/svc/database-url, readOnly: true }
{{- end }}
{{- if and .database (include "svc.databaseCaSecret" .root) }}
- { name: database-ca, mountPath: /etc/svc/database-ca, readOnly: true }
{{- end }}
{{- end -}}

{{- define "svc.volumes" -}}
{{ include "svc.baseVolumes" (dict "root" .root "database" .component.database "values" .values) }}
{{- with .root.Values.database.readSecret }}
{{- if and .name (eq $.component.key "apiserver") }}
{{ include "svc.secretVolume" (dict "name" "read-url" "secret" .name "items" (dict .key "url")) }}
{{- end }}
{{- end }}
{{- with include "svc.credentials" . | fromYaml }}
{{ include "svc.secretVolume" (dict "name" "credentials" "secret" (include "svc.authSecret" $.root) "items" .) }}
{{- end }}
{{- with include "svc.serviceTokens" . | fromYaml }}
{{ include "svc.secretVolume" (dict "name" "service-tokens" "secret" (include "svc.serviceTokensSecret" $.root) "items" .) }}
{{- end }}
{{- $tls := empty (include "svc.hasTls" .root) | ternary dict (include "svc.tlsItems" . | fromYaml) }}
{{- if $tls }}
{{ include "svc.secretVolume" (dict "name" "tls" "secret" (include "svc.tlsSecret" .root) "items" $tls) }}
{{- end }}
{{- with .root.Values.metrics.scrapeToken }}
{{- if .name }}
{{ include "svc.secretVolume" (dict "name" "scrape-token" "secret" .name "items" (dict .key "token")) }}
{{- end }}
{{- end }}
{{- if eq .component.key "controllerManager" }}
{{- include "svc.pluginVolumes" .root }}
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "svc.volumeMounts" -}}
{{ include "svc.baseMounts" (dict "root" .root "database" .component.database) }}
{{- if and .root.Values.database.readSecret.name (eq .component.key "apiserver") }}
- { name: read-url, mountPath: /etc/svc/read-url, readOnly: true }
{{- end }}
{{- if include "svc.credentials" . | fromYaml }}
- { name: credentials, mountPath: /etc/svc/credentials, readOnly: true }
{{- end }}
{{- if include "svc.serviceTokens" . | fromYaml }}
- { name: service-tokens, mountPath: /etc/svc/service-tokens, readOnly: true }
{{- end }}
{{- if and (include "svc.hasTls" .root) (include "svc.tlsItems" .) }}
- { name: tls, mountPath: /etc/svc/tls, readOnly: true }
{{- end }}
{{- if .root.Values.metrics.scrapeToken.name }}
- { name: scrape-token, mountPath: /etc/svc/scrape-token, readOnly: true }
{{- end }}
{{- if eq .component.key "controllerManager" }}
{{- include "svc.pluginMounts" .root }}
{{- end }}
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
