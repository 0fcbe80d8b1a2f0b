<?php // Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… php by-http.php ID USER
[, $id, $user] = $argv;
$job = ['id' => $id, 'app' => 'news', 'audience' => ['users' => [$user]], 'message' => ['body' => 'Hello from PHP']];
$answer = file_get_contents((getenv('CARILLON_URL') ?: 'http://127.0.0.1:8080') . '/api/v1/campaigns', false,
    stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Authorization: Bearer ' . getenv('CARILLON_TOKEN'), 'Content-Type: application/json'],
        'content' => json_encode($job, JSON_THROW_ON_ERROR),
        'timeout' => 10,
        'ignore_errors' => true, // a refusal has a body by RFC 9457 with the error and a hint
    ]]));
if ($answer === false) exit(1);
echo "$http_response_header[0] $answer\n";
exit(str_contains($http_response_header[0], ' 2') ? 0 : 1);
