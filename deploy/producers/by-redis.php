<?php // Registers a device and submits a campaign through Redis: php by-redis.php ID USER TOKEN
[, $id, $user, $token] = $argv;
$server = stream_socket_client('tcp://' . (getenv('REDIS_HOST') ?: '127.0.0.1') . ':' . (getenv('REDIS_PORT') ?: 6379));

function lpush($server, string $name, array $value): void {
    $words = ['LPUSH', '{' . (getenv('CARILLON_NAMESPACE') ?: 'carillon') . "}:$name", json_encode($value, JSON_THROW_ON_ERROR)];
    fwrite($server, "*3\r\n" . implode(array_map(fn($word) => '$' . strlen($word) . "\r\n$word\r\n", $words)));
    $reply = fgets($server);
    if ($reply === false || $reply[0] !== ':') throw new RuntimeException("Redis: $reply");
}

lpush($server, 'registrations', ['op' => 'register', 'user' => $user, 'token' => $token, 'app' => 'news', 'locale' => 'en']);
lpush($server, 'campaigns', ['id' => $id, 'app' => 'news', 'audience' => ['users' => [$user]],
    'message' => ['body' => 'Hello from PHP']]);
