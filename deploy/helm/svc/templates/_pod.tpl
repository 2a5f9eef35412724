{{/* What Kubernetes' restricted profile of pod security asks for, and a file system that nobody writes to. */}}
{{- define "svc.podSecurity" -}}
runAsNonRoot: true
{{- range $name, $value := .Values.podSecurityContext }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }}: {{ toJson $value }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "svc.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* How every pod of the chart begins. */}}
{{- define "svc.podStart" -}}
serviceAccountName: {{ include "svc.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "svc.podSecurity" . | nindent 2 }}
{{- end -}}

{{/* How a pod resolves names. Takes root and values of a component, which win over those of all pods. */}}
{{- define "svc.dns" -}}
{{- range $name := list "dnsPolicy" "dnsConfig" -}}
{{- with default (index $.root.Values $name) (index $.values $name) }}
{{ $name }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Containers of a person's own, those of a component or else of all. Takes root, values of a component, and name: initContainers or extraContainers. */}}
{{- define "svc.givenContainers" -}}
{{- with default (index .root.Values .name) (index .values .name) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Which nodes a pod may run on, and how urgent it is. Takes values of a component. */}}
{{- define "svc.placement" -}}
{{- range $name := list "priorityClassName" "nodeSelector" "tolerations" "affinity" -}}
{{- with index $ $name }}
{{ $name }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The same for the pods that come and go, where API servers run, with their names; what keeps API servers apart from one another would keep these from running at all. */}}
{{- define "svc.jobPlacement" -}}
{{- $api := .Values.apiserver -}}
{{- include "svc.placement" (merge (dict "affinity" (pick $api.affinity "nodeAffinity")) (omit $api "affinity")) -}}
{{- include "svc.dns" (dict "root" . "values" $api) -}}
{{- end -}}

{{/* A Secret's entries as files that the pod's group may read, as the program wants its key file: 288 is 0440, which not every reader of YAML takes for octal. Takes name, secret and items (entry to file). */}}
{{- define "svc.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 288
    items:
      {{- range $key, $path := .items }}
      - { key: {{ $key }}, path: {{ $path }} }
      {{- end }}
{{- end -}}

{{- define "svc.databaseCaVolume" -}}
{{- with include "svc.databaseCaSecret" . | fromYaml }}
{{- if .name }}
{{ include "svc.secretVolume" (dict "name" "database-ca" "secret" .name "items" (dict .key "ca.crt")) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Probes of a component: alive is who answers, whatever becomes of the database; a migration may take its time, as a pod is alive from its first moment on.
Where the database takes no writes, no replica can: all stay in their Services, for reads and deletions. */}}
{{- define "svc.probes" -}}
{{- $port := dict "port" (include "svc.scheme" .) "scheme" (include "svc.scheme" . | upper) -}}
startupProbe:
  httpGet: {{ merge (dict "path" "/livez") $port | toJson }}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 120
readinessProbe:
  httpGet: {{ merge (dict "path" "/readyz?exclude=writes") $port | toJson }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 3
livenessProbe:
  httpGet: {{ merge (dict "path" "/livez") $port | toJson }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{/* A person's own, or over zones and over nodes; by revision, as the pods of an older one are on their way out. Takes root, component and values. */}}
{{- define "svc.spread" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- with .values.topologySpreadConstraints -}}
{{ toYaml . }}
{{- else -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  matchLabelKeys: [pod-template-hash]
  labelSelector:
    matchLabels:
      {{- include "svc.selectorLabels" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component.name }}
{{- end }}
{{- end -}}
{{- end -}}
