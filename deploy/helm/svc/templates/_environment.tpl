{{/* Environment of the database's clients. No secret is in it, as child processes get it, and reports of a crash show it: each is a file. */}}
{{- define "svc.databaseEnv" -}}
- { name: SVC_DATABASE_URL_FILE, value: /etc/svc/database-url/url }
{{- if include "svc.databaseCaSecret" . }}
- { name: SVC_DATABASE_CA_FILE, value: /etc/svc/database-ca/ca.crt }
{{- end }}
{{- end -}}

{{- define "svc.administratorEnv" -}}
- { name: SVC_SECURITY_INITIAL_ADMIN_TOKEN_FILE, value: /etc/svc/credentials/admin-token }
- { name: SVC_SECURITY_INITIAL_ADMIN_PASSWORD_FILE, value: /etc/svc/credentials/admin-password }
- { name: SVC_SECURITY_KEY_FILE, value: /etc/svc/credentials/key }
{{- end -}}

{{/* Where the API server and access management listen: with a certificate, in the clear for nobody but the pod itself. Takes root and prefix. */}}
{{- define "svc.listenEnv" -}}
{{- if include "svc.hasTls" .root -}}
- { name: {{ .prefix }}_HOST, value: 127.0.0.1 }
- { name: {{ .prefix }}_TLS_HOST, value: {{ .root.Values.listenAddress | quote }} }
- { name: SVC_TLS_CERT_FILE, value: /etc/svc/tls/tls.crt }
- { name: SVC_TLS_KEY_FILE, value: /etc/svc/tls/tls.key }
{{- else -}}
- { name: {{ .prefix }}_HOST, value: {{ .root.Values.listenAddress | quote }} }
{{- end }}
{{- end -}}

{{/* For code of others that calls the API: Node reads it at the start of a process. */}}
{{- define "svc.callerEnv" -}}
{{- if include "svc.tlsCaKey" . }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/svc/tls/ca.crt }
{{- end -}}
{{- end -}}

{{/* For programs of ours that call it. Takes root and prefix. */}}
{{- define "svc.apiCaEnv" -}}
{{- if include "svc.tlsCaKey" .root }}
- { name: {{ .prefix }}_CA_FILE, value: /etc/svc/tls/ca.crt }
{{- end -}}
{{- end -}}

{{- define "svc.env.apiserver" -}}
{{ include "svc.listenEnv" (dict "root" . "prefix" "SVC_SERVER") }}
- { name: SVC_SERVER_WORKERS, value: {{ include "svc.workers" . | quote }} }
{{ include "svc.databaseEnv" . }}
{{- if .Values.database.readSecret.name }}
- { name: SVC_DATABASE_READ_URL_FILE, value: /etc/svc/read-url/url }
{{- end }}
{{ include "svc.administratorEnv" . }}
{{- if include "svc.serviceTokensSecret" . }}
{{- if .Values.controllerManager.enabled }}
- { name: SVC_SECURITY_CONTROLLER_MANAGER_TOKEN_FILE, value: {{ include "svc.serviceTokenFile" (dict "root" . "of" "controllerManager") }} }
{{- end }}
{{- if .Values.accessServer.enabled }}
- { name: SVC_SECURITY_ACCESS_SERVER_TOKEN_FILE, value: {{ include "svc.serviceTokenFile" (dict "root" . "of" "accessServer") }} }
{{- end }}
{{- end }}
{{- with include "svc.accessOnPlatformHost" (dict "root" . "how" "forward") | fromYaml }}
- { name: SVC_SERVER_ACCESS_URL, value: {{ include "svc.serviceUrl" (dict "root" $ "component" .) | quote }} }
{{- include "svc.apiCaEnv" (dict "root" $ "prefix" "SVC_SERVER_ACCESS") }}
{{- end }}
{{- end -}}

{{- define "svc.env.access-server" -}}
{{ include "svc.listenEnv" (dict "root" . "prefix" "SVC_ACCESS") }}
- { name: SVC_ACCESS_API_URL, value: {{ include "svc.apiUrl" . | quote }} }
- { name: SVC_ACCESS_TOKEN_FILE, value: {{ include "svc.serviceTokenFile" (dict "root" . "of" "accessServer") }} }
{{- include "svc.apiCaEnv" (dict "root" . "prefix" "SVC_ACCESS") }}
{{ include "svc.databaseEnv" . }}
{{ include "svc.administratorEnv" . }}
{{- end -}}

{{- define "svc.env.controller-manager" -}}
- { name: SVC_SERVER_HOST, value: {{ .Values.listenAddress | quote }} }
- { name: SVC_CONTROLLERS_API_URL, value: {{ include "svc.apiUrl" . | quote }} }
- { name: SVC_CONTROLLERS_TOKEN_FILE, value: {{ include "svc.serviceTokenFile" (dict "root" . "of" "controllerManager") }} }
{{- include "svc.apiCaEnv" (dict "root" . "prefix" "SVC_CONTROLLERS") }}
{{- $given := list }}
{{- range .Values.controllerManager.extraEnv }}{{ $given = append $given .name }}{{ end }}
{{- if and .Values.plugins (not (has "NODE_EXTRA_CA_CERTS" $given)) }}{{ include "svc.callerEnv" . }}{{ end }}
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- { name: SVC_PLUGINS_HOST_URL, value: "http://{{ contains ":" .Values.listenAddress | ternary "[$(POD_IP)]" "$(POD_IP)" }}:8092" }
{{- if .Values.plugins }}
- { name: SVC_PLUGINS_DIR, value: /plugins }
{{- end }}
{{- end -}}
