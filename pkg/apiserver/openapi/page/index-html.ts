/** The documentation page. Paths are relative to `/docs`, so that the server may stand behind a proxy with a prefix. */
export const indexHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" type="image/png" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<header class="bar">
<h1>API reference</h1>
<p>
<label for="document">Document</label>
<select id="document">
<option value="public">Public API</option>
<option value="extension">Extension API</option>
<option value="console">Console API</option>
<option value="uc">User-center API</option>
<option value="aggregated">Aggregated API</option>
</select>
</p>
<form id="token-form">
<label for="token">Personal token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="pat_..." aria-describedby="message">
<button type="submit">Use token</button>
</form>
<p id="message" role="status" aria-live="polite"></p>
</header>
<main id="reference"></main>
<noscript>This page needs JavaScript. The documents themselves are at docs/openapi/public.json and its neighbours.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/init.js"></script>
</body>
</html>
`;
