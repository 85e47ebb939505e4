greeting = "Hello"
