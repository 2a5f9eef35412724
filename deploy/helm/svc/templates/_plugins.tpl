{{/* Folders of plugins: from an image, copied by a container of it before the program begins, or mounted as a volume; from a ConfigMap; from any other volume. */}}
{{- define "svc.pluginVolumes" }}
{{- range .Values.plugins }}
- name: plugin-{{ .name }}
  {{- if and .image .imageVolume }}
  image: { reference: {{ .image | quote }}, pullPolicy: {{ default $.Values.image.pullPolicy .pullPolicy }} }
  {{- else if .image }}
  emptyDir: {{ include "svc.emptyDir" $.Values.emptyDirSizeLimits.plugin }}
  {{- else if .configMap }}
  configMap:
    name: {{ .configMap }}
    {{- with .items }}
    items: {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- else }}
  {{- toYaml .volume | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "svc.pluginMounts" }}
{{- range .Values.plugins }}
- name: plugin-{{ .name }}
  mountPath: /plugins/{{ .name }}
  readOnly: true
  {{- $subPath := .imageVolume | empty | ternary (empty .image | ternary (default "" .path) "") (default "/plugin" .path) | trimPrefix "/" }}
  {{- with $subPath }}
  subPath: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "svc.pluginInitContainers" -}}
{{- range .Values.plugins }}
{{- if and .image (not .imageVolume) }}
- name: plugin-{{ .name }}
  image: {{ .image | quote }}
  imagePullPolicy: {{ default $.Values.image.pullPolicy .pullPolicy }}
  command: {{ default (list "cp" "-r" (printf "%s/." (default "/plugin" .path)) "/target") .command | toJson }}
  securityContext: {{- include "svc.containerSecurity" $ | nindent 4 }}
  resources: { requests: { cpu: 10m, memory: 16Mi, ephemeral-storage: 32Mi }, limits: { memory: 128Mi, ephemeral-storage: 1Gi } }
  volumeMounts:
    - { name: plugin-{{ .name }}, mountPath: /target }
{{- end }}
{{- end }}
{{- end -}}
