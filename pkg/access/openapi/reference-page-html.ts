/**
 * The API reference page, for both forms of its path, `/api/docs/` and `/api/docs`: relative URLs resolve differently
 * from each. Relative, so that the server may be behind a proxy with a prefix.
 */
export function referencePageHtml({ withSlash }: { withSlash: boolean }): string {
  const files = withSlash ? '' : 'docs/';
  const api = withSlash ? '../' : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference - access management</title>
<link rel="icon" type="image/png" href="${files}favicon.png">
<link rel="stylesheet" href="${files}swagger-ui.css">
<link rel="stylesheet" href="${files}style.css">
</head>
<body>
<header class="bar">
<h1>Access management</h1>
<p><a href="${api}openapi.json">openapi.json</a></p>
<p><a href="${api}../settings/">Settings</a></p>
</header>
<main id="reference" data-document="${api}openapi.json"></main>
<noscript>This page needs JavaScript. The document itself is <a href="${api}openapi.json">openapi.json</a>.</noscript>
<script src="${files}swagger-ui-bundle.js"></script>
<script src="${files}init.js"></script>
</body>
</html>
`;
}

/**
 * The page's script in plain browser JavaScript. Credentials are kept in memory only. A logged-in user's requests use
 * the session and its CSRF token. Has no backticks and backslashes, which the template literal would interpret.
 */
export const referencePageScript = `'use strict';
(function () {
  var main = document.getElementById('reference');

  function csrfToken() {
    var pair = document.cookie.split('; ').find(function (text) { return text.startsWith('svc_csrftoken='); });
    return pair === undefined ? '' : pair.slice('svc_csrftoken='.length);
  }

  function intercept(request) {
    var token = csrfToken();
    var isOwn = new URL(request.url, document.baseURI).origin === location.origin;
    if (isOwn && token !== '' && !request.headers['X-CSRFToken'] && !/^(GET|HEAD)$/i.test(request.method || 'GET')) request.headers['X-CSRFToken'] = token;
    return request;
  }

  SwaggerUIBundle({
    url: new URL(main.dataset.document, document.baseURI).href,
    dom_id: '#reference',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    filter: true,
    validatorUrl: null,
    persistAuthorization: false,
    requestInterceptor: intercept,
  });
})();
`;
