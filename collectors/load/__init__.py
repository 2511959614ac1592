"""What runs against a server in each window, the same every time.

protocol       what a load is; it runs whole in every window, warm-up included
openai         the built-in load; stream is one request of it, prompts what it asks
command        a command of the user's
"""
